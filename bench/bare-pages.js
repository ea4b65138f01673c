// The reference for the pull of JSON pages: fetches one page after another, parses it and counts its rows.
const [url, token] = process.argv.slice(2);
let rows = 0;
for (let page = 1; page !== null; ) {
  const response = await fetch(`${url}&page[number]=${page}`, { headers: { authorization: `Bearer ${token}` } });
  const document = JSON.parse(await response.text());
  rows += document.data.length;
  page = document.meta.pagination['next-page'];
}
process.stdout.write(`${rows}\n`);
