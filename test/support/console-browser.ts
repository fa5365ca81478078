import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeOperatorKey, type OperatorRole } from '../../src/config/operators.js';
import { startWithStores } from './running-service.js';

/** A page as it was answered; redirects are not followed. */
export interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly location: string | null;
}

/** A service with operators who are signed in, each with a browser of his own. */
export interface ConsoleBrowsers<N extends string> {
  readonly running: Awaited<ReturnType<typeof startWithStores>>;
  open(who: N | null, path: string, init?: RequestInit): Promise<Page>;
  get(who: N, path: string): Promise<Page>;
  /** Sends a form as a browser does that has opened a page. */
  post(
    who: N,
    path: string,
    fields: Readonly<Record<string, string>>,
    files?: Readonly<Record<string, string>>,
  ): Promise<Page>;
  /** Opens the page of a run until it is over. */
  ended(who: N, path: string): Promise<Page>;
  end(): Promise<void>;
}

export async function startConsole<N extends string>(
  roles: Readonly<Record<N, readonly OperatorRole[]>>,
  settings: Readonly<Record<string, string>> = {},
): Promise<ConsoleBrowsers<N>> {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-console-'));
  const names = Object.keys(roles) as N[];
  const made = names.map((name) => makeOperatorKey(name, roles[name]));
  const operators = join(folder, 'operators.json');
  await writeFile(operators, JSON.stringify(made.map(({ entry }) => entry)));
  const running = await startWithStores({ OPERATORS_FILE: operators, ...settings });
  const cookies = new Map<string, string>();

  async function open(who: N | null, path: string, init: RequestInit = {}): Promise<Page> {
    const cookie = who === null ? undefined : cookies.get(who);
    const response = await fetch(`${running.service.origin}${path}`, {
      redirect: 'manual',
      ...init,
      headers: new Headers([...new Headers(init.headers), ...(cookie ? [['cookie', cookie]] : [])]),
    });
    const { status, headers } = response;
    return { status, headers, text: await response.text(), location: headers.get('location') };
  }
  const get = (who: N, path: string): Promise<Page> => open(who, path);

  for (const { key, entry } of made) {
    const body = new URLSearchParams({ key });
    const { headers } = await open(null, '/console/session', { method: 'POST', body });
    cookies.set(entry.name, (headers.get('set-cookie') ?? '').split(';')[0] ?? '');
  }
  return {
    running,
    open,
    get,
    async post(who, path, fields, files = {}) {
      const csrf = /name="csrf" value="([^"]+)"/.exec((await get(who, '/console')).text)?.[1] ?? '';
      const form = new FormData();
      for (const [name, value] of Object.entries({ csrf, ...fields })) form.append(name, value);
      for (const [name, value] of Object.entries(files))
        form.append(name, new Blob([value]), 'file');
      return open(who, path, { method: 'POST', body: form });
    },
    async ended(who, path) {
      for (;;) {
        const page = await get(who, path);
        if (!page.text.includes('data-run=')) return page;
      }
    },
    async end() {
      await running.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
