
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
  const shown = () =>
    status ? rows.filter(({ row }) => !row.hidden).map(({ row }) => row.querySelector('a')) : [...answers.querySelectorAll('a')];
  const typed = () => input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const filter = () => {
    const words = typed();
    for (const { row, text } of rows) row.hidden = !words.every((word) => text.includes(word));
    for (const section of document.querySelectorAll('section[data-kind]')) {
      section.hidden = !section.querySelector('li[data-id]:not([hidden])');
    }
    status.textContent = words.length > 0 ? `${shown().length} of ${rows.length} subjects` : '';
  };
  // On other pages, what they link to answers at once; Enter opens the list of all subjects.
  const answers = document.createElement('ul');
  const answer = () => {
    const words = typed();
    const found = new Map();
    for (const link of document.querySelectorAll('main a[href*="subjects/"], nav.pages a')) {
      if (words.every((word) => link.textContent.toLocaleLowerCase().includes(word))) found.set(link.href, link.textContent);
    }
    answers.replaceChildren(...(words.length === 0 ? [] : [...[...found].slice(0, 8), [`${list}#q=${encodeURIComponent(input.value)}`, 'Search all subjects']]).map(([href, text]) => {
      const [item, link] = [document.createElement('li'), document.createElement('a')];
      link.href = href;
      link.textContent = text;
      item.append(link);
      return item;
    }));
    answers.hidden = words.length === 0;
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
    const isInList = event.target === input || event.target.closest?.('li[data-id], .answers');
    if (isInList && event.key === 'ArrowDown') move(event, 1);
    if (isInList && event.key === 'ArrowUp' && event.target !== input) move(event, -1);
  });
  if (!status) {
    answers.className = 'answers';
    answers.hidden = true;
    form.append(answers);
    input.addEventListener('input', answer);
    document.addEventListener('keydown', ({ key }) => {
      if (key === 'Escape') answers.hidden = true;
    });
    return;
  }
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
