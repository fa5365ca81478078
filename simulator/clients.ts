import type { AccountRef, Scope } from '../src/domain/scope.js';
import { ApiError } from '../src/http/edge/api-error.js';
import type { Call } from '../src/http/credentials/call.js';
import type { Written } from '../src/http/writing/command-gateway.js';
import type { KeyedNames } from '../src/privacy/keyed-names.js';
import type { SimulatedService } from './service.js';
import { BY_REF, type KnownWorld, type Wish } from './known-world.js';

/** How a request ended: `unknown` is a 503, or no answer at all. */
export type Ending =
  | {
      readonly kind: 'accepted';
      readonly isReplayed: boolean;
      /** Its own events, or those of the request whose answer this is. */
      readonly events: number;
      /** The request that the answer names; undefined: it names none. */
      readonly of: string | undefined;
    }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unknown' };

/** One try, on its way to a process. */
export interface Outgoing {
  readonly wish: Wish;
  readonly key: string | undefined;
  readonly body: string;
  readonly scope: Scope;
  readonly callId: string;
}

/** The body of an answer. A member is null once the person whom it was about is forgotten. */
interface Answer {
  readonly events: number | null;
  readonly of: string;
}

/** Sends one try through a process, as a controller does. Never rejects. */
export async function send(
  service: SimulatedService,
  outgoing: Outgoing,
  known: KnownWorld,
): Promise<Ending> {
  let isReplayed = false;
  const call = callOf(outgoing, () => (isReplayed = true));
  try {
    const answer = await answerOf(service, call, outgoing, (written) =>
      known.learn(outgoing.wish, written),
    );
    return { kind: 'accepted', isReplayed, events: answer?.events ?? 0, of: answer?.of };
  } catch (error) {
    if (!(error instanceof ApiError) || error.getStatus() >= 500) return { kind: 'unknown' };
    known.unlearn(outgoing.wish, error.code);
    return { kind: 'refused', code: error.code };
  }
}

/** Undefined: the answer says nothing. */
async function answerOf(
  { gateway, names }: SimulatedService,
  call: Call,
  { wish, body: of }: Outgoing,
  onWritten: (written: Written) => void,
): Promise<Answer | undefined> {
  if (wish.kind === 'moderation') {
    await gateway.moderate(call, wish.actions);
    return undefined;
  }
  const { accountId, request: command } = wish;
  const account = accountRefIn(accountId, call.scope, names);
  if (command.type === 'ForgetUser' || command.type === 'ForgetAccount') {
    await gateway.forget(call, account, command);
    return undefined;
  }
  const respond = (written: Written): Answer => {
    onWritten(written);
    return { events: written.events.length, of };
  };
  const personalFields = ({ state }: Written) => [{ subject: state.account, members: ['events'] }];
  const answer = await gateway.write({ call, account, command, respond, personalFields });
  return answer as Answer;
}

/** The hash of an account, from its id or from that hash itself. */
export const accountRefIn = (accountId: string, scope: Scope, names: KeyedNames): AccountRef =>
  accountId.startsWith(BY_REF)
    ? accountId.slice(BY_REF.length)
    : names.accountRef(scope, accountId);

/** As the edge makes it of a request; only what a write reads. */
function callOf({ wish, key, body, scope, callId }: Outgoing, onReplayed: () => void): Call {
  const reply = {
    header: (name: string) => {
      if (name === 'Idempotency-Replayed') onReplayed();
      return reply;
    },
    status: () => reply,
  };
  return {
    id: callId,
    scope,
    actor: { kind: 'api-key', id: 'key' },
    method: 'POST',
    target: `/${wish.kind}`,
    headers: key === undefined ? {} : { 'idempotency-key': key },
    body: JSON.parse(body) as unknown,
    reply,
  } as unknown as Call;
}
