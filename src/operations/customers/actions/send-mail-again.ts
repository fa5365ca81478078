import { resend } from '../../mails/mail.operations.js';
import { onceIfKeyed } from '../../operator-keys.js';
import { NotDone } from '../../outcome.js';
import { text } from '../../registry/members.js';
import { ledgerOperation } from '../../registry/operation.js';
import { SUPPORT } from './account-action.js';
import { operatorMeta } from '../../audit.js';

/** `mail resend`, once for each key of a form: a mail may be sent before its form comes again. */
export const sendMailAgain = ledgerOperation({
  name: 'mail resend',
  summary: 'sends a mail again that has ended',
  members: { delivery: text },
  ...SUPPORT,
  isRecorded: true,
  run: async (context, request) => {
    const { core, scope, by, keyed } = context;
    const meta = operatorMeta(core, scope, by, 'mail resend');
    const asked = { delivery: request.delivery };
    const once = { meta, asked, keyed };
    const { done } = await onceIfKeyed(core.names, once, async () => {
      const outcome = await resend.run(context, request);
      if (outcome instanceof NotDone) throw outcome;
      return { done: outcome as { readonly resent: number }, replayed: false };
    });
    return done;
  },
});
