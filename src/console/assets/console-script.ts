import { TEXTS } from '../texts.js';

/**
 * What pages do beyond HTML: times in the viewer's zone, keys, the progress of a run, and figures
 * that stay up to date. They work without it.
 */
export const CONSOLE_SCRIPT = `'use strict';
(() => {
  const TEXTS = ${JSON.stringify(TEXTS.script)};
  const two = (n) => String(n).padStart(2, '0');
  const local = (at) =>
    at.getFullYear() + '-' + two(at.getMonth() + 1) + '-' + two(at.getDate()) + ' ' +
    two(at.getHours()) + ':' + two(at.getMinutes()) + ':' + two(at.getSeconds());
  const showTimes = (root) => {
    for (const element of root.querySelectorAll('time[datetime]')) {
      const at = new Date(element.dateTime);
      if (!Number.isNaN(at.getTime())) element.textContent = local(at);
    }
  };
  showTimes(document);
  const zone = document.querySelector('[data-zone]');
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (zone && !/^(Etc\\/)?UTC$/.test(timeZone)) {
    const minutes = -new Date().getTimezoneOffset();
    const distance = 'UTC' + (minutes < 0 ? '−' : '+') + two(Math.floor(Math.abs(minutes) / 60)) + ':' + two(Math.abs(minutes) % 60);
    zone.textContent = TEXTS.zone[0] + timeZone + TEXTS.zone[1] + distance + TEXTS.zone[2];
  }
  // A reload, and forms of this page, do not say again what was done.
  const here = new URL(location.href);
  if (here.searchParams.has('done')) {
    here.searchParams.delete('done');
    history.replaceState(null, '', here);
  }
  if (location.hash === '#search') {
    document.getElementById('search')?.focus();
    history.replaceState(null, '', location.pathname + location.search);
  }

  const LIVE_MS = 5000;
  const SAMPLES_MAX = 150;
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
      if (total) { bar.max = total; bar.value = done; }
    }
  };
  for (const run of document.querySelectorAll('[data-run]')) void follow(run);

  const away = document.createElement('p');
  away.className = 'problem';
  away.setAttribute('role', 'status');
  away.textContent = TEXTS.away;
  const samples = new Map();
  // A line over the figures that were on the page since it was opened.
  const plot = (part) => {
    for (const svg of part.querySelectorAll('[data-plots]')) {
      const figure = part.querySelector('[data-figure="' + svg.dataset.plots + '"]');
      const seen = [...(samples.get(svg.dataset.plots) || []), Number(figure.dataset.value)].slice(-SAMPLES_MAX);
      samples.set(svg.dataset.plots, seen);
      const top = Math.max(1, ...seen);
      const points = seen.map((value, at) =>
        (seen.length < 2 ? 0 : at * 150 / (seen.length - 1)).toFixed(1) + ' ' + (22 - 20 * value / top).toFixed(1));
      const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      path.setAttribute('d', 'M' + points.join('L'));
      svg.replaceChildren(path);
      svg.setAttribute('aria-label', figure.dataset.value + ' ' + TEXTS.plotted[0] + Math.max(...seen) + ' ' + TEXTS.plotted[1]);
    }
  };
  const keepLive = async (part) => {
    plot(part);
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, Number(part.dataset.every) || LIVE_MS));
      if (document.hidden) continue;
      const answer = await fetch(part.dataset.live).catch(() => undefined);
      if (answer === undefined || answer.status >= 429) { (part.closest('.scroll') || part).before(away); continue; }
      if (!answer.ok || answer.redirected) return location.reload();
      away.remove();
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = page.getElementById(part.id);
      // Whoever reads with the keyboard, or marks a text, is not interrupted.
      const isUsed = part.contains(document.activeElement) || !getSelection().isCollapsed;
      if (fresh === null || isUsed) continue;
      showTimes(fresh);
      plot(fresh);
      part.replaceChildren(...fresh.childNodes);
    }
  };
  for (const part of document.querySelectorAll('[data-live]')) void keepLive(part);

  const PLACES = { t: '/console', p: '/console/projections', u: '/console/runs',
    o: '', s: '/statement', r: '/replay', a: '/reconcile',
    c: '/corrections', m: '/periods', v: '/verify', q: '/moderation', w: '/webhooks', e: '/exports', j: '/events',
    i: '/mails', b: '/payments', k: '/settings', f: '/program', l: '/theme' };
  const tenantPath = () => (/^\\/console\\/tenants\\/[^/]+\\/[^/]+/.exec(location.pathname) || [])[0];
  // The page of a key; undefined: the navigation, which has what the operator may see, lacks it.
  const pathOf = (key) => {
    const place = PLACES[key];
    const tenant = tenantPath();
    const path = place === undefined || place.startsWith('/console') ? place : tenant && tenant + place;
    // The page of an error has no navigation of its tenant.
    const isOffered = path !== undefined && (document.querySelector('nav a[href="' + CSS.escape(path) + '"]') ||
      (!place.startsWith('/console') && !document.querySelector('nav.tenant')));
    return isOffered ? path : undefined;
  };
  const NAMES = TEXTS.places.filter(([keys]) => keys.length === 1 || pathOf(keys.slice(-1)) !== undefined);
  const help = () => {
    const dialog = document.createElement('dialog');
    const table = document.createElement('table');
    for (const [keys, name] of NAMES) {
      const row = table.insertRow();
      row.insertCell().textContent = keys;
      row.insertCell().textContent = name;
    }
    dialog.setAttribute('aria-label', TEXTS.keys);
    dialog.append(table);
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  };
  let going = false;
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest('input, textarea, select');
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (going) {
      going = false;
      const path = pathOf(key);
      if (path !== undefined) location.href = path;
    } else if (key === 'g') going = true;
    else if (key === '?') help();
    else if (key === '/') {
      const search = document.querySelector('input[type=search]');
      if (search || tenantPath()) event.preventDefault();
      if (search) search.focus();
      else if (tenantPath()) location.href = tenantPath() + '#search';
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
      try { JSON.parse(text.value); return true; } catch { return false; }
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
      const answer = await fetch(location.pathname, { method: 'POST', body }).catch(() => undefined);
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

  for (const form of document.querySelectorAll('form[method=post]'))
    form.addEventListener('submit', (event) => {
      if (event.submitter && event.submitter.formTarget) return;
      for (const button of form.querySelectorAll('button'))
        setTimeout(() => { button.disabled = true; });
    });
})();
`;
