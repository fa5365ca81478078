import { writeFile } from 'node:fs/promises';
import {
  newOperatorKey,
  type OperatorEntry,
  type OperatorRole,
} from '../../src/config/operators.js';
import { pollPause } from './poll-pause.js';
import { personal, shareService, type TestTenant } from './running-service.js';

/** Four members of staff in the console of the shared service. */

export type Name = 'fay' | 'flo' | 'sam' | 'vic';
const ROLES: Readonly<Record<Name, readonly OperatorRole[]>> = {
  fay: ['finance'],
  flo: ['finance'],
  sam: ['support'],
  vic: ['viewer'],
};
export const NAMES = Object.keys(ROLES) as Name[];

export let running: Awaited<ReturnType<typeof shareService>>;
export let tenant: TestTenant;
export const keys = new Map<string, string>();
export const entries: OperatorEntry[] = [];
export const cookies = new Map<Name, string>();
export const writeOperators = (list: readonly OperatorEntry[]): Promise<void> =>
  writeFile(running.stores.operatorsFile, JSON.stringify(list));

/** Signs the staff in, for the tests of a file. */
export function setUpConsole(): void {
  beforeAll(async () => {
    running = await shareService();
    for (const name of [...NAMES, 'gone']) {
      const { key, entry } = newOperatorKey(name, ROLES[name as Name] ?? ['support']);
      keys.set(name, key);
      entries.push(entry);
    }
    await writeOperators(entries);
    tenant = await running.service.createTenant();
    for (const name of NAMES) cookies.set(name, await signedIn(name));
  });
  afterAll(() => running.end());
}

export interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  readonly location: string | null;
}

export async function open(path: string, init: RequestInit = {}, cookie?: string): Promise<Page> {
  const response = await fetch(`${running.service.origin}${path}`, {
    redirect: 'manual',
    ...init,
    headers: new Headers([...new Headers(init.headers), ...(cookie ? [['cookie', cookie]] : [])]),
  });
  const { status, headers } = response;
  return { status, headers, text: await response.text(), location: headers.get('location') };
}

export const get = (who: Name, path: string): Promise<Page> => open(path, {}, cookies.get(who));

export async function signedIn(name: string): Promise<string> {
  const page = await open('/console/session', {
    method: 'POST',
    body: new URLSearchParams({ key: keys.get(name) ?? '' }),
  });
  expect(page).toMatchObject({ status: 303, location: '/console' });
  const [cookie = ''] = (page.headers.get('set-cookie') ?? '').split(';');
  return cookie;
}

export const csrfIn = ({ text }: Page): string =>
  /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? '';

/** Tokens by session: they last as long. */
const tokens = new Map<string, string>();

export async function csrfOf(who: Name): Promise<string> {
  const cookie = cookies.get(who) ?? '';
  const token = tokens.get(cookie) ?? csrfIn(await get(who, '/console?test=no'));
  tokens.set(cookie, token);
  return token;
}

/** Sends a form as a browser does that has opened the page. */
export async function post(
  who: Name,
  path: string,
  fields: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const csrf = await csrfOf(who);
  const form = new FormData();
  for (const [name, value] of Object.entries({ csrf, ...fields })) form.append(name, value);
  for (const [name, value] of Object.entries(files)) form.append(name, new Blob([value]), 'file');
  return open(path, { method: 'POST', body: form }, cookies.get(who));
}

export const hiddenIn = ({ text }: Page, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';

/** The exact values of a figure on a page, in order. */
export const figures = ({ text }: Page, name: string): string[] =>
  [...text.matchAll(/data-figure="([^"]*)" data-value="([^"]*)"/g)]
    .filter(([, figure]) => figure === name)
    .map(([, , value = '']) => value);

export const shownEvents = ({ text }: Page): number =>
  text.split('<details><summary class="line">').length - 1;

export const ofTenant = (path = ''): string => `/console/tenants/${tenant.alias}/live${path}`;

/** Opens the page of a run until it is over. */
export async function ended(who: Name, path: string): Promise<Page> {
  for (let looks = 0; ; looks += 1) {
    const page = await get(who, path);
    expect(page.status).toBe(200);
    if (!page.text.includes('data-run=')) return page;
    await pollPause(looks);
  }
}

export interface Person {
  readonly accountId: string;
  readonly userId: string;
  readonly firstName: string;
}

export async function sent(path: string, body: object): Promise<void> {
  const { status } = await tenant.live.post(path, body);
  expect({ path, ok: status < 300 }).toEqual({ path, ok: true });
}

export const onTrial = (id: string): Promise<void> =>
  sent('/accountsync', { id, subscription: { status: 'TRIAL' } });

export async function rewarded(amount: number): Promise<Person> {
  const person = { accountId: personal('a'), userId: personal('u'), firstName: personal('F') };
  await onTrial(person.accountId);
  await sent('/user', {
    id: person.userId,
    accountId: person.accountId,
    firstName: person.firstName,
    email: `${person.userId}@example.com`,
  });
  const path = `/rewards/account/${person.accountId}/user/${person.userId}`;
  await sent(path, { type: 'CREDIT', unit: 'CENTS', assignedCredit: amount });
  return person;
}
