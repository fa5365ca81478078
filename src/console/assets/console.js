'use strict';
// What pages do beyond HTML: times in the viewer's zone, keys, copying, charts, live parts. Pages work without it, but for charts.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const two = (n) => String(n).padStart(2, '0');
  const dayOf = (at) => at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate());
  const local = (at) => dayOf(at) + ' ' + two(at.getHours()) + ':' + two(at.getMinutes());

  // Times are in UTC without this script, and where a page says so.
  const showTimes = (root) => {
    for (const element of all('time[datetime]:not([data-utc])', root)) {
      const at = new Date(element.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      element.textContent = local(at);
    }
    // A day of the viewer's zone; its address has the moment.
    for (const input of all('input[type=date][data-moment]', root)) {
      const at = new Date(input.dataset.moment);
      if (!Number.isNaN(at.getTime())) input.value = dayOf(at);
    }
    for (const input of all('input[type=datetime-local][data-moment]', root)) {
      const at = new Date(input.dataset.moment);
      if (!Number.isNaN(at.getTime())) input.value = local(at).replace(' ', 'T');
    }
  };
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  for (const zone of all('[data-zone]'))
    zone.textContent = 'Times shown in ' + timeZone + '; hover for UTC.';

  // A day that is typed into a filter is sent as the moment at which it begins or ends.
  document.addEventListener('formdata', ({ formData, target }) => {
    for (const input of all('input[type=date][data-day]', target)) {
      if (input.value === '') continue;
      const [year, month, day] = input.value.split('-').map(Number);
      const isEnd = input.dataset.day === 'end';
      const at = new Date(year, month - 1, day + (isEnd ? 1 : 0));
      formData.set(input.name, new Date(at.getTime() - (isEnd ? 1 : 0)).toISOString());
    }
    for (const input of all('input[type=datetime-local][data-day]', target))
      if (input.value !== '') formData.set(input.name, new Date(input.value).toISOString());
    for (const [name, value] of [...formData])
      if (target.matches('[data-filters]') && value === '') formData.delete(name);
  });

  // A reload, and forms of this page, do not say again what was done.
  const here = new URL(location.href);
  if (here.searchParams.has('done')) {
    here.searchParams.delete('done');
    history.replaceState(null, '', here);
  }

  const side = document.getElementById('menu');
  document.querySelector('.menu')?.addEventListener('click', (event) => {
    event.preventDefault();
    side.classList.toggle('isOpen');
  });
  document.addEventListener('click', (event) => {
    for (const drop of all('details.drop[open]'))
      if (!drop.contains(event.target)) drop.open = false;
    const copy = event.target.closest?.('[data-copy]');
    if (!copy) return;
    void navigator.clipboard?.writeText(copy.dataset.copy);
    copy.title = 'Copied';
  });
  for (const box of all('input[data-all]'))
    box.addEventListener('change', () => {
      for (const one of all('input[type=checkbox][name="' + box.dataset.all + '"]', box.form))
        one.checked = box.checked;
    });
  for (const button of all('button[data-print]'))
    button.addEventListener('click', () => window.print());

  const runs = (root) => {
    for (const run of all('[data-run]', root)) void follow(run);
  };
  const follow = async (run) => {
    const figure = run.querySelector('[data-figure=progress]');
    const pace = run.querySelector('[data-pace]');
    const bar = run.querySelector('progress');
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const answer = await fetch(run.dataset.run).catch(() => undefined);
      if (answer === undefined || answer.status === 503) continue;
      if (!answer.ok || answer.redirected) return location.reload();
      const { state, text, pace: rate, done, total } = await answer.json();
      if (state !== 'running') return location.reload();
      figure.textContent = text;
      figure.dataset.value = text;
      pace.textContent = rate;
      if (total) {
        bar.max = total;
        bar.value = done;
      }
    }
  };

  // Bars, lines and areas of uPlot, from the table next to each.
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const LINES = ['#3b82c4', '#d9822b', '#3f9b5b', '#8a63b8', '#c2434f', '#5a6b7b'];
  const draw = (box) => {
    const { days, lines } = JSON.parse(box.dataset.chart);
    const shown = (value) =>
      value === null || value === undefined ? '–' : value.toLocaleString('en-US');
    const axis = {
      stroke: css('--soft'),
      grid: { stroke: css('--line'), width: 1 },
      ticks: { stroke: css('--line') },
    };
    const size = () => ({ width: box.clientWidth, height: box.clientHeight - 24 });
    const plot = new uPlot(
      {
        ...size(),
        cursor: { y: false },
        scales: {
          y: { range: (_plot, low, high) => [Math.min(0, low), Math.max(1, high) * 1.05] },
        },
        axes: [
          axis,
          {
            ...axis,
            size: 76,
            label: box.dataset.unit,
            values: (_plot, ticks) => ticks.map(shown),
          },
        ],
        series: [
          {
            label: 'Day',
            value: (_plot, at) =>
              at === null ? '–' : new Date(at * 1000).toISOString().slice(0, 10),
          },
          ...lines.map(({ label, isStep }, index) => ({
            label,
            stroke: LINES[index % LINES.length],
            width: 2,
            points: { show: false },
            value: (_plot, value) => shown(value),
            ...(isStep
              ? {
                  paths: uPlot.paths.stepped({ align: 1 }),
                  fill: LINES[index % LINES.length] + '22',
                }
              : {}),
          })),
        ],
      },
      [days.map((day) => Date.parse(day) / 1000), ...lines.map(({ values }) => values)],
      box,
    );
    new ResizeObserver(() => plot.setSize(size())).observe(box);
  };

  const ready = (root) => {
    showTimes(root);
    runs(root);
    if (window.uPlot) all('[data-chart]', root).forEach(draw);
  };
  document.addEventListener('htmx:load', ({ detail }) => {
    if (detail.elt !== document.body) ready(detail.elt);
  });
  document.addEventListener('htmx:beforeSwap', (event) => {
    // Reading by keyboard and marking a text are not interrupted.
    const { target } = event.detail;
    if (target.contains(document.activeElement) || !getSelection().isCollapsed)
      event.detail.shouldSwap = false;
  });
  ready(document);

  // The letter after g of each page that the navigation offers.
  const places = () => all('.side a[data-key]');
  const help = () => {
    const dialog = document.createElement('dialog');
    const table = document.createElement('table');
    const names = [
      ['/', 'Search'],
      ...places().map((link) => ['g ' + link.dataset.key, link.textContent.trim()]),
      ['?', 'These keys'],
    ];
    for (const [keys, name] of names) {
      const row = table.insertRow();
      row.insertCell().append(Object.assign(document.createElement('kbd'), { textContent: keys }));
      row.insertCell().textContent = name;
    }
    dialog.setAttribute('aria-label', 'Keys');
    dialog.append(table);
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };
  let isGoing = false;
  document.addEventListener('keydown', (event) => {
    if (
      event.target.closest?.('input, textarea, select') ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey
    )
      return;
    const { key } = event;
    if (isGoing) {
      isGoing = false;
      const place = places().find((link) => link.dataset.key === key);
      if (place) location.href = place.href;
    } else if (key === 'g') isGoing = true;
    else if (key === '?') help();
    else if (key === '/') {
      const search = document.querySelector('input[type=search]');
      if (search) event.preventDefault();
      search?.focus();
    }
  });

  for (const form of document.querySelectorAll('form[data-preview]')) {
    const button = form.querySelector('button[formtarget]');
    let waiting = 0;
    const preview = () => {
      // A new frame: the one before would leave an entry in the browser's history.
      const frame = document.querySelector('iframe[name="' + button.formTarget + '"]');
      frame.replaceWith(frame.cloneNode());
      form.requestSubmit(button);
    };
    form.querySelector('textarea').addEventListener('input', () => {
      clearTimeout(waiting);
      waiting = setTimeout(preview, 600);
    });
    preview();
  }

  // A document that has fields beside it is checked while it is typed: each shows what the other says.
  for (const form of document.querySelectorAll('form[data-check]')) {
    const text = form.elements[form.dataset.check];
    // What the fields are put into: a choice that is taken back brings back what it left out.
    let base = { text: text.value, was: form.elements.was.value };
    let isTextTyped = false;
    let isAwaited = false;
    let waiting = 0;
    let typed = 0;
    const isDocument = () => {
      try {
        JSON.parse(text.value);
        return true;
      } catch {
        return false;
      }
    };
    const show = (fresh) => {
      const fills = isDocument();
      // Who types into the document sees it in the fields, and the other way round.
      const isByFields = fresh.dataset.by === 'fields';
      // Somebody is about to type into the document: it is filled once they leave it.
      isAwaited = isByFields && document.activeElement === text;
      if (isAwaited) return;
      const isFilled = (control) => fills && (control === text) === isByFields;
      for (const field of form.querySelectorAll('.field')) {
        const control = field.querySelector('input, select, textarea');
        const other = control && fresh.querySelector('[id="' + CSS.escape(control.id) + '"]');
        if (!other) continue;
        field.querySelector('.wrong')?.remove();
        const wrong = other.closest('.field').querySelector('.wrong');
        if (wrong) field.append(wrong.cloneNode(true));
        for (const name of ['aria-invalid', 'aria-describedby'])
          if (other.hasAttribute(name)) control.setAttribute(name, other.getAttribute(name));
          else control.removeAttribute(name);
        if (isFilled(control) && control.value !== other.value) control.value = other.value;
      }
      // What the head of the page said is about what was typed before.
      const head = document.querySelector('main > .problem');
      const freshHead = fresh.closest('main').querySelector(':scope > .problem');
      if (head && freshHead) head.replaceWith(freshHead.cloneNode(true));
      else if (head) head.remove();
      if (!fills) return;
      const isOther = form.elements.program.value !== fresh.elements.program.value;
      // A newer version of the same program is told when it is applied.
      for (const name of ['was', 'fields', 'compared', ...(isOther ? ['program', 'version'] : [])])
        form.elements[name].value = fresh.elements[name].value;
      form.querySelector('#changes').replaceChildren(...fresh.querySelector('#changes').childNodes);
      if (!isByFields) base = { text: text.value, was: fresh.elements.was.value };
      isTextTyped = false;
    };
    const check = async () => {
      const asked = typed;
      const body = new URLSearchParams(new FormData(form));
      body.set('action', 'check');
      body.set('live', 'yes');
      if (!isTextTyped) {
        body.set(text.name, base.text);
        body.set('was', base.was);
      }
      const answer = await fetch(location.pathname, { method: 'POST', body }).catch(
        () => undefined,
      );
      if (answer === undefined || answer.redirected || !answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = page.querySelector('form[data-check]');
      // Somebody types on: the next check is about that.
      if (asked === typed && fresh) show(fresh);
    };
    // As a check would: the fields of this moment are put into the same document.
    form.addEventListener('submit', () => {
      if (isTextTyped) return;
      text.value = base.text;
      form.elements.was.value = base.was;
    });
    text.addEventListener('blur', () => {
      if (isAwaited) void check();
    });
    form.addEventListener('input', ({ target }) => {
      isTextTyped = isTextTyped || target === text;
      typed += 1;
      clearTimeout(waiting);
      waiting = setTimeout(check, 600);
    });
  }

  document.addEventListener('submit', ({ target, submitter }) => {
    if (target.method !== 'post' || submitter?.formTarget) return;
    for (const button of all('button', target))
      setTimeout(() => {
        button.disabled = true;
      });
  });
  // Back shows the page as it was left: its buttons work again.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) for (const button of all('form[method=post] button')) button.disabled = false;
  });
})();
