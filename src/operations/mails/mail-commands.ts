import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import {
  listMails,
  mailExists,
  resendMail,
  type MailFilter,
} from '../../mails/deliveries/shown-mails.js';
import type { Done } from '../audited.js';
import { NotDone, type DocumentOf } from '../outcome.js';

/** Operations on mails: each returns the document that `--json` prints. They name no person. */

export type ShownMail = DocumentOf<typeof showMails>[number];

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

type MailCore = Pick<Core, 'pool'>;

/** Newest first. */
export const showMails = async ({ pool }: MailCore, scope: Scope, filter: MailFilter) =>
  (await listMails(pool, scope, filter)).map(({ nextAttemptAt, created, ...mail }) => ({
    ...mail,
    nextAttemptAt: mail.state === 'PENDING' ? (nextAttemptAt?.toISOString() ?? null) : null,
    created: created.toISOString(),
  }));

/** One that has ended, again with the same `Message-ID`. One that waits is not sent twice. @throws {NotDone} */
export async function resendOneMail(
  { pool }: MailCore,
  scope: Scope,
  id: string,
): Promise<Done<{ readonly resent: number }>> {
  if (!UUID.test(id) || !(await mailExists(pool, scope, id)))
    throw new NotDone({ code: 'MAIL_NOT_FOUND' });
  const resent = (await resendMail(pool, scope, id)) ? 1 : 0;
  const completed = `${resent} mails are sent again`;
  return { result: { resent }, parameters: { id }, completed };
}
