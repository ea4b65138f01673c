
// Search: what is typed on any page filters the list of subjects (subjects.html#q=…). Without it, the list is a plain page.
(() => {
  const form = document.querySelector('form.search');
  if (!form) return;
  const input = form.querySelector('input');
  const list = document.querySelector('a.to-subjects').getAttribute('href');
  const rows = [...document.querySelectorAll('li[data-id]')].map((row) => ({
    row,
    text: `${row.textContent} ${row.dataset.id} ${row.closest('section').dataset.kind}`.toLocaleLowerCase(),
  }));
  const status = document.querySelector('.found');
  const shown = () => rows.filter(({ row }) => !row.hidden).map(({ row }) => row.querySelector('a'));
  const filter = () => {
    const words = input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    for (const { row, text } of rows) row.hidden = !words.every((word) => text.includes(word));
    for (const section of document.querySelectorAll('section[data-kind]')) {
      section.hidden = !section.querySelector('li[data-id]:not([hidden])');
    }
    status.textContent = words.length > 0 ? `${shown().length} of ${rows.length} subjects` : '';
  };
  const move = (event, step) => {
    const links = shown();
    const index = links.indexOf(document.activeElement);
    const target = index + step < 0 ? input : links[index + step];
    if (!target) return;
    event.preventDefault();
    target.focus();
  };
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (status) shown()[0]?.click();
    else location.href = `${list}#q=${encodeURIComponent(input.value)}`;
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === '/' && !event.ctrlKey && !event.metaKey && !/^(?:input|textarea|select)$/i.test(event.target.tagName)) {
      event.preventDefault();
      input.focus();
      input.select();
    }
    const isInList = event.target === input || event.target.closest?.('li[data-id]');
    if (status && isInList && event.key === 'ArrowDown') move(event, 1);
    if (status && isInList && event.key === 'ArrowUp' && event.target !== input) move(event, -1);
  });
  if (!status) return;
  const readHash = () => {
    if (!location.hash.startsWith('#q=')) return;
    try {
      input.value = decodeURIComponent(location.hash.slice(3));
    } catch {
      input.value = location.hash.slice(3); // a hand-made address that is not percent-encoded
    }
    filter();
    input.focus();
  };
  input.addEventListener('input', filter);
  addEventListener('hashchange', readHash);
  readHash();
})();
