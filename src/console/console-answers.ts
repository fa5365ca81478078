import { Readable } from 'node:stream';
import type { Scope } from '../domain/scope.js';
import { csvFile } from '../exports/files/csv-lines.js';
import type { SheetRows } from '../exports/files/sheet-rows.js';
import { attachmentNamed } from '../http/exports/file-name.js';
import { doneMark, type ConsoleCall, type TenantCall } from './console-call.js';
import { NO_FAULTS } from './view/faults.js';
import { DONE, page, type DoneKey, type Frame } from './view/layout.js';
import { pageName } from './view/navigation.js';
import { PAGE_HEADERS } from './view/page-headers.js';
import type { Template } from './view/templates.js';

/** Prepares the answer with a file. @returns its body. */
export function sendFile<B>(
  { reply }: Pick<ConsoleCall, 'reply'>,
  { name, type }: { readonly name: string; readonly type: string },
  content: B,
): B {
  void reply.headers({
    'Content-Type': type,
    'Content-Disposition': attachmentNamed(name),
    'Cache-Control': 'no-store',
  });
  return content;
}

/** Prepares the answer with the CSV of a table. @param name of the file, without its ending. */
export const sendCsv = (
  call: Pick<ConsoleCall, 'reply'>,
  name: string,
  sheet: Pick<SheetRows, 'headers' | 'rows'>,
): Readable =>
  sendFile(
    call,
    { name: `${name}.csv`, type: 'text/csv; charset=utf-8' },
    Readable.from(csvFile(sheet)),
  );

/** Of a page of the sidebar: with its title. `of: 'corrections'`. */
type PageFrame = Omit<Frame, 'session' | 'scope' | 'title'> &
  ({ readonly title: string } | { readonly of: string });

const framed = (frame: PageFrame) =>
  'of' in frame ? { title: pageName(`/${frame.of}`), section: `/${frame.of}`, ...frame } : frame;

/**
 * Prepares the answer with a page, 400 where its form was refused.
 * @param values what the template names, but for the token of `{{> csrf}}` and what fields mark.
 * @returns its body.
 */
export function sendPage(
  call: Pick<TenantCall, 'session' | 'reply' | 'done' | 'money' | 'testClock'> & {
    readonly scope?: Scope;
    readonly within?: string;
  },
  frame: PageFrame,
  content: Template,
  values: object,
): string {
  const { session, reply, money } = call;
  const { problems, wrong } = frame.faults ?? NO_FAULTS;
  if (problems.length > 0) void reply.code(400);
  void reply.headers(PAGE_HEADERS);
  const inForms = { wrong, money, csrf: session.csrf, within: call.within ?? '' };
  return page({ ...framed(frame), ...call }, content({ ...values, ...inForms }));
}

/**
 * After a form: the browser fetches another page, which a reload does not send again.
 * @param done what that page says was done. @param count for a text with a number.
 */
export function redirected(
  { reply, session }: Pick<ConsoleCall, 'reply'> & Partial<Pick<ConsoleCall, 'session'>>,
  path: string,
  done?: DoneKey,
  count = 0,
): string {
  const counted = `${done}.${count}`;
  const said = session && done && `${DONE}=${counted}.${doneMark(session, counted)}`;
  const location = said ? `${path}${path.includes('?') ? '&' : '?'}${said}` : path;
  void reply.code(303).header('Location', location);
  return '';
}
