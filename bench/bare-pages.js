// The reference for the pull of JSON pages: fetches one page after another, parses it and counts its rows.
let rows = 0;
for (const address of process.argv.slice(2)) {
  for (let page = 1; page !== null; ) {
    const response = await fetch(page === 1 ? address : `${address}&page%5Bnumber%5D=${page}`);
    const document = JSON.parse(await response.text());
    rows += document.data.length;
    page = document.meta.pagination['next-page'];
  }
}
process.stdout.write(`${rows}\n`);
