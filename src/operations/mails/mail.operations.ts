import * as z from 'zod';
import { MAIL_STATES } from '../../mails/deliveries/shown-mails.js';
import { unlessRefused } from '../outcome.js';
import { fullId, idsOf } from '../registry/full-id.js';
import { help, limit, text } from '../registry/members.js';
import {
  ledgerOperation,
  recordedOperation,
  type Operation,
  get,
  post,
} from '../registry/operation.js';
import { resendOneMail, showMails } from './mail-commands.js';

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
  recordedOperation({
    name: 'mail resend',
    summary: 'sends a mail again that has ended, with the same Message-ID',
    members: { delivery: help(text, 'the id of the mail') },
    positions: ['delivery'],
    roles: ['support'],
    route: post('mails/{tenant}/resend', 'MAIL_NOT_FOUND'),
    examples: ['mail resend acme 3f0c9a52-6d0e-5c1b-9d2a-0b7f4f1f6a11'],
    record: async (context, { delivery }) => {
      const { core, scope } = context;
      const id = await fullId(context, delivery, idsOf(core.pool, 'ledger.mail_deliveries', scope));
      return resendOneMail(core, scope, unlessRefused(id));
    },
    said: ({ resent }) => `${resent} sent again`,
  }),
];
