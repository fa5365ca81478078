import * as z from 'zod';
import type { Core } from '../../stores/core.js';
import type { Scope } from '../../domain/scope.js';
import {
  MAIL_LIST,
  MAIL_STATES,
  mailExists,
  resendMail,
  type MailRow,
  type MailFilter,
} from '../../mails/deliveries/shown-mails.js';
import type { RowQueries } from '../../projecting/following/row-lists.js';
import type { DeliveryPage, DeliverySort } from '../../work-queue/listed-deliveries.js';
import { onceIfKeyed } from '../operator-keys.js';
import { NotDone } from '../outcome.js';
import { fullId, idsOf } from '../registry/full-id.js';
import { help, limit, text } from '../registry/members.js';
import { ledgerOperation, type Operation, recordedOperation } from '../registry/operation.js';
import { get, post } from '../registry/routes.js';
import { pagesOf } from '../webhooks/delivery-pages.js';

/** A mail as operators see it: it names no person. */
export type ShownMail = ReturnType<typeof shownMail>;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Newest first. */
export const showMails = async (
  { pool }: Pick<Core, 'pool'>,
  scope: Scope,
  filter: MailFilter & DeliveryPage,
) => (await MAIL_LIST.list(pool, scope, filter)).map(shownMail);

const shownMail = ({ id, eventId, type, state, attempts, reason, ...mail }: MailRow) => ({
  id,
  eventId,
  type,
  state,
  attempts,
  reason,
  nextAttemptAt: state === 'PENDING' ? (mail.nextAttemptAt?.toISOString() ?? null) : null,
  created: mail.created.toISOString(),
});

/** Mails as pages and files list them. */
export const mailQueries = ({
  pool,
}: Pick<Core, 'pool'>): RowQueries<MailFilter, DeliverySort, ShownMail> =>
  pagesOf(
    (scope, request) => showMails({ pool }, scope, request),
    (scope, filter, countedMax) => MAIL_LIST.count(pool, scope, filter, countedMax),
  );

/** Also called by the console. One that waits is not sent twice. */
export const resend = recordedOperation({
  name: 'mail resend',
  summary: 'sends a mail again that has ended, with the same Message-ID',
  members: { delivery: help(text, 'the id of the mail') },
  positions: ['delivery'],
  roles: ['support'],
  route: post('mails/{tenant}/resend', 'MAIL_NOT_FOUND'),
  examples: ['mail resend acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11'],
  record: async (context, { delivery }) => {
    const { scope, core, meta, keyed } = context;
    const ids = idsOf(core.pool, 'ledger.mail_deliveries', scope);
    const id = await fullId(context, delivery, ids);
    if (!UUID.test(id) || !(await mailExists(core.pool, scope, id)))
      throw new NotDone('MAIL_NOT_FOUND', ['there is no such mail']);
    // A mail may be sent before its form comes again.
    const once = { meta, asked: { delivery }, keyed };
    const { done: resent, replayed } = await onceIfKeyed(core.names, once, async () => {
      return { done: (await resendMail(core.pool, scope, id)) ? 1 : 0, replayed: false };
    });
    const parameters = { id, repeated: replayed || undefined };
    return { result: { resent }, parameters, completed: `${resent} mails are sent again` };
  },
  said: ({ resent }) => `${resent} sent again`,
});

export const operations: readonly Operation[] = [
  ledgerOperation({
    name: 'mail deliveries',
    summary: 'mails, newest first',
    members: {
      state: help(z.enum(MAIL_STATES).optional(), MAIL_STATES.join(', ')),
      limit: limit(100),
    },
    roles: ['support'],
    route: get('mails/{tenant}/deliveries'),
    examples: ['mail deliveries acme --state DEAD'],
    columns: [
      'id',
      'type',
      'state',
      ['attempts', 'attempts', 'amount'],
      ['next', 'nextAttemptAt'],
      'reason',
      'created',
    ],
    run: ({ core, scope }, filter) => showMails(core, scope, filter),
  }),
  resend,
];
