// What the pull of JSON pages is held against: each page fetched after the one before it, parsed, and its rows counted.
const [url, token] = process.argv.slice(2);
let rows = 0;
for (let page = 1; page !== null; ) {
  const response = await fetch(`${url}&page[number]=${page}`, { headers: { authorization: `Bearer ${token}` } });
  const document = JSON.parse(await response.text());
  rows += document.data.length;
  page = document.meta.pagination['next-page'];
}
process.stdout.write(`${rows}\n`);
