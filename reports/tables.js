
// Makes tables sortable and filterable (WAI-ARIA APG, "Sortable Table"); without it they are plain tables.
(() => {
  const value = (row, index) => {
    const cell = row.cells[index];
    return cell.dataset.v ?? cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === '' || b === '') return a === '' ? 1 : -1; // what is unknown stays at the end
    const difference = Number(a) - Number(b);
    return Number.isNaN(difference) ? a.localeCompare(b, 'en', { numeric: true }) : difference;
  };
  const sort = (table, index) => {
    const head = table.tHead.rows[0].cells[index];
    const ascending = head.getAttribute('aria-sort') !== 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const one = value(a, index);
      const other = value(b, index);
      return one === '' || other === '' || ascending ? compare(one, other) : compare(other, one);
    });
    table.tBodies[0].append(...rows);
  };
  const filter = (table, input, told) => {
    const words = input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLocaleLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown++;
    }
    told.textContent = words.length > 0 ? `${shown} of ${table.tBodies[0].rows.length} rows` : '';
  };
  for (const table of document.querySelectorAll('table.grid')) {
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      button.addEventListener('click', () => sort(table, index));
      head.append(button);
    });
    if (table.tBodies[0].rows.length < 6) continue;
    const label = document.createElement('label');
    const input = document.createElement('input');
    const told = document.createElement('span');
    input.type = 'search';
    const subject = document.createElement('span');
    subject.className = 'hidden';
    subject.textContent = ` ${table.caption.textContent}`;
    label.append('Filter', subject, ' ', input);
    told.setAttribute('role', 'status');
    const bar = document.createElement('div');
    bar.className = 'filter';
    bar.append(label, told);
    table.parentElement.before(bar);
    table.filterBy = (text) => {
      input.value = text;
      filter(table, input, told);
    };
    input.addEventListener('input', () => filter(table, input, told));
  }
  document.addEventListener('click', ({ target }) => {
    const link = target.closest('a[data-filter]');
    const table = link && document.querySelector(`${link.getAttribute('href')} table.grid`);
    table?.filterBy?.(link.dataset.filter);
  });
})();
