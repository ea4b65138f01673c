
// Makes tables sortable and filterable (WAI-ARIA APG, "Sortable Table"); without it, they stay plain tables.
(() => {
  const value = (row, index) => {
    const cell = row.cells[index];
    return cell.dataset.v ?? cell.textContent.trim().replace(/^—$/, '');
  };
  const compare = (a, b) => {
    if (a === b) return 0;
    if (a === '' || b === '') return a === '' ? 1 : -1; // unknown values stay at the end
    const difference = Number(a) - Number(b);
    return Number.isNaN(difference) ? a.localeCompare(b, 'en', { numeric: true }) : difference;
  };
  const sort = (table, index) => {
    const header = table.tHead.rows[0].cells[index];
    const ascending = header.getAttribute('aria-sort') !== 'ascending';
    for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
    header.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    const rows = [...table.tBodies[0].rows];
    const keys = new Map(rows.map((row) => [row, value(row, index)])); // once for each row, not for each comparison
    rows.sort((a, b) => {
      const one = keys.get(a);
      const other = keys.get(b);
      return one === '' || other === '' || ascending ? compare(one, other) : compare(other, one);
    });
    table.tBodies[0].append(...rows);
  };
  const filter = (table, input, status) => {
    const words = input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLocaleLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown++;
    }
    table.classList.toggle('filtered', words.length > 0); // shows every row that matches, not only the first ones
    const { total } = table.dataset;
    const rest = total ? ` on this page, which has the first of ${total}` : '';
    status.textContent = words.length > 0 ? `${shown} of ${table.tBodies[0].rows.length} rows${rest}` : '';
  };
  for (const table of document.querySelectorAll('table.grid')) {
    const labels = [...table.tHead.rows[0].cells].map((header) => header.textContent.trim());
    table.classList.add('labelled');
    table.classList.toggle('one', table.tBodies[0].rows.length === 1);
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, index) => {
        cell.dataset.label = labels[index] ?? '';
      });
    }
    [...table.tHead.rows[0].cells].forEach((header, index) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...header.childNodes);
      button.addEventListener('click', () => sort(table, index));
      header.append(button);
    });
    if (table.tBodies[0].rows.length < 6) continue;
    const label = document.createElement('label');
    const input = document.createElement('input');
    const status = document.createElement('span');
    input.type = 'search';
    const subject = document.createElement('span');
    subject.className = 'hidden';
    subject.textContent = ` ${table.caption.textContent}`;
    label.append('Filter', subject, ' ', input);
    status.setAttribute('role', 'status');
    const bar = document.createElement('div');
    bar.className = 'filter';
    bar.append(label, status);
    table.parentElement.before(bar);
    table.filterBy = (text) => {
      input.value = text;
      filter(table, input, status);
    };
    input.addEventListener('input', () => filter(table, input, status));
  }
  document.addEventListener('click', ({ target }) => {
    const link = target.closest('a[data-filter]');
    const table = link && document.querySelector(`${link.getAttribute('href')} table.grid`);
    table?.filterBy?.(link.dataset.filter);
  });
})();
