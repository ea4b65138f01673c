// Lists the queries that had a result, in this browser alone. Without it, the page works the same.
(() => {
  const KEY = 'tidemark.queries';
  const MAX = 50;
  const details = document.querySelector('#history');
  const read = () => {
    try {
      const entries = JSON.parse(localStorage.getItem(KEY) ?? '[]');
      return Array.isArray(entries) ? entries.filter((entry) => typeof entry === 'string') : [];
    } catch {
      return []; // no storage, or not ours
    }
  };
  const write = (entries) => {
    try {
      localStorage.setItem(KEY, JSON.stringify(entries));
    } catch {} // no storage, or it is full
  };
  const draw = () => {
    const entries = read();
    details.hidden = entries.length === 0;
    details.querySelector('ul').replaceChildren(
      ...entries.map((entry) => {
        const [item, link] = [document.createElement('li'), document.createElement('a')];
        link.href = `/sql?${entry}`;
        link.textContent = (new URLSearchParams(entry).get('sql') ?? '').replace(/\s+/g, ' ').slice(0, 200);
        item.append(link);
        return item;
      }),
    );
  };
  if (document.querySelector('#result')) {
    const params = new URLSearchParams(location.search);
    for (const name of ['as_of', 'view']) params.delete(name);
    const entry = String(params);
    write([entry, ...read().filter((other) => other !== entry)].slice(0, MAX));
  }
  draw();
  details.querySelector('button').addEventListener('click', () => {
    write([]);
    draw();
    document.querySelector('#site-status').textContent = 'The history is empty.';
  });
})();
