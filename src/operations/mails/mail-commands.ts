import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import {
  listMails,
  mailExists,
  resendMail,
  type KnownMail,
  type MailFilter,
  type MailState,
} from '../../mails/deliveries/shown-mails.js';
import type { Done } from '../audited.js';
import { NotDone, type Outcome } from '../outcome.js';

/** Operations on mails: each returns the document that `--json` prints. They name no person. */

export interface ShownMail {
  readonly id: string;
  /** The event that it is about. */
  readonly eventId: string;
  readonly type: string;
  readonly state: MailState;
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  /** Why it was not sent, or what the last attempt met. */
  readonly reason: string | null;
  readonly created: string;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

type MailCore = Pick<Core, 'pool'>;

/** Newest first. */
export const showMails = async (
  { pool }: MailCore,
  scope: Scope,
  filter: MailFilter,
): Promise<readonly ShownMail[]> => (await listMails(pool, scope, filter)).map(shown);

/** One that has ended, again with the same `Message-ID`. One that waits is not sent twice. */
export async function resendOneMail(
  { pool }: MailCore,
  scope: Scope,
  id: string,
): Promise<Outcome<Done<{ readonly resent: number }>>> {
  if (!UUID.test(id) || !(await mailExists(pool, scope, id)))
    return new NotDone({ code: 'MAIL_NOT_FOUND', id });
  const resent = (await resendMail(pool, scope, id)) ? 1 : 0;
  const completed = `${resent} mails are sent again`;
  return { result: { resent }, parameters: { id }, completed };
}

const shown = ({ nextAttemptAt, created, ...mail }: KnownMail): ShownMail => ({
  ...mail,
  nextAttemptAt: mail.state === 'PENDING' ? (nextAttemptAt?.toISOString() ?? null) : null,
  created: created.toISOString(),
});
