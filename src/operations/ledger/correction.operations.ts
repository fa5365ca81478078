import * as z from 'zod';
import { isUnit, trimmedUnit, UNIT_LENGTH_MAX } from '../../domain/units.js';
import { trimmedPattern } from '../../foundation/outside-text.js';
import type { Scope } from '../../domain/scope.js';
import { timeNow } from '../../foundation/world.js';
import { personNamed } from '../audit.js';
import { auditedOn, type Done } from '../audited.js';
import { NotDone } from '../outcome.js';
import { fullId } from '../registry/full-id.js';
import { given, help, limit, reason, text } from '../registry/members.js';
import { type OperationContext, type ScopedContext, scopeOf } from '../registry/context.js';
import { type Operation, recordedOperation, serviceOperation } from '../registry/operation.js';
import { get, post } from '../registry/routes.js';
import { checkUnit } from './known-unit.js';
import { adjustWithAudit } from './ledger-adjustment.js';
import {
  listProposals,
  PROPOSAL_STATES,
  proposalIdsFrom,
  proposalNameOf,
} from './ledger-proposals.js';
import {
  PROPOSAL_NOT_FOUND,
  approveWithAudit,
  endWithAudit,
  proposeWithAudit,
  type ApprovalRequest,
} from './proposal-steps.js';

const APPROVER_REFUSED = new NotDone('APPROVER_REFUSED', [
  (word) => `${word('approvedBy')} must be another operator than the caller, with the role finance`,
]);

/** Of a correction, adjusted in one step or proposed. */
const CORRECTION = {
  account: help(text, 'the id of the account'),
  user: help(text, 'the user of the account'),
  unit: help(
    text
      .transform(trimmedUnit)
      .refine(isUnit, `takes 1 to ${UNIT_LENGTH_MAX} characters without control characters`)
      .meta({ pattern: trimmedPattern(UNIT_LENGTH_MAX) }),
    'the unit of the credit',
  ),
  amount: help(
    z
      .int('must be a whole number, such as 500 or -500')
      .refine((amount) => amount !== 0, 'must not be 0')
      .meta({ not: { const: 0 } }),
    '+n adds a manual reward, -n redeems',
  ),
  reason: help(reason, 'why'),
  newUnit: help(z.boolean().default(false), 'the unit is new to the tenant'),
};

/** The balance that a form shows: the correction is refused when it is another one by now. */
const shownBalance = given(z.int().optional(), { only: 'console' });

const STEP = { positions: ['account'], roles: ['finance'], isKeyed: true } as const;

/** The request of `ledger propose`, as a form fills it in. */
export const proposalRequest = z.strictObject(CORRECTION);

const adjust = recordedOperation({
  name: 'ledger adjust',
  summary: "appends a correction of a user's credit",
  members: { ...CORRECTION, approvedBy: help(reason, 'the name of the approver') },
  ...STEP,
  route: post(
    'ledger/{tenant}/adjustment',
    'ACCOUNT_NOT_FOUND',
    'USER_NOT_FOUND',
    'APPROVER_REFUSED',
    'REQUEST_IN_PROGRESS',
    'IDEMPOTENCY_KEY_REUSED',
  ),
  examples: [
    'ledger adjust acme 42 --user 7 --unit CENTS --amount -500 --reason "ticket 4711" --approved-by sam',
  ],
  record: async (context, asked) => {
    const { core, meta, keyed } = context;
    if (!(await mayApprove(context, asked.approvedBy))) throw APPROVER_REFUSED;
    const request = await correctionIn(context, asked);
    return adjustWithAudit(core, meta, request, keyed);
  },
  said: ({ eventId, position }, { amount, unit }) =>
    `adjusted by ${amount} ${unit}: event ${eventId} at ${position ?? ''}`,
});

/** As it is recorded. @throws {NotDone} for a new unit that is not said to be new. */
async function correctionIn<R extends AskedCorrection>({ core, scope }: ScopedContext, asked: R) {
  const { account, user, newUnit, tenant: _, mode: __, ...correction } = asked;
  if (!newUnit) await checkUnit(core, scope, asked);
  return { accountId: account, userId: user, ...correction };
}

type AskedCorrection = z.output<typeof proposalRequest> & Scope;

/** Over HTTP a correction names two people, the second one on trust; a proposal takes both keys. */
async function mayApprove({ operators, by }: OperationContext, approver: string): Promise<boolean> {
  if (operators === undefined) return true;
  const isOther = personNamed(approver) !== personNamed(by.name);
  return isOther && (await operators.now()).hasRole(approver, 'finance');
}

export const propose = recordedOperation({
  name: 'ledger propose',
  summary: "proposes a correction of a user's credit, for another operator to approve",
  members: { ...CORRECTION, balance: shownBalance },
  ...STEP,
  route: post(
    'ledger/{tenant}/proposals',
    'REQUEST_IN_PROGRESS',
    'IDEMPOTENCY_KEY_REUSED',
    'ACCOUNT_NOT_FOUND',
    'USER_NOT_FOUND',
  ),
  examples: ['ledger propose acme 42 --user 7 --unit CENTS --amount 500 --reason "ticket 4711"'],
  record: async (context, asked) => {
    const { core, meta, keyed } = context;
    const request = await correctionIn(context, asked);
    return proposeWithAudit(core, meta, request, keyed);
  },
  said: ({ id, expiresAt }) => `proposed ${id}; to be approved by ${expiresAt}`,
});

/** Of an operation on one proposal, whose id names its tenant and mode. */
const PROPOSAL = {
  tenant: given(text.optional(), { only: 'http' }),
  proposal: help(text, 'the id of the proposal, or the first 8 characters or more'),
};
const DECISION = { positions: ['proposal'], roles: ['finance'], isRecorded: true } as const;
const REFUSALS_OF_PROPOSALS = [
  'TENANT_NOT_FOUND',
  'PROPOSAL_NOT_FOUND',
  'PROPOSAL_IS_OWN',
] as const;

/** Runs the work on a proposal, with an audit event in its tenant's log. */
async function onProposal<T>(
  context: OperationContext,
  operation: string,
  { tenant, proposal }: { readonly tenant?: string | undefined; readonly proposal: string },
  work: (asked: ApprovalRequest) => Promise<Done<T>>,
): Promise<T> {
  const { core, by, warn, onReplayed } = context;
  const id = await fullId(context, proposal, (prefix) => proposalIdsFrom(core, prefix));
  const name = proposalNameOf(id);
  const scope = tenant === undefined ? name?.scope : await scopeOf(core, { tenant, mode: 'live' });
  if (name === undefined || name.scope.tenant !== scope?.tenant) throw PROPOSAL_NOT_FOUND;
  const isOfRemoved = (await core.tenants.ledger(name.scope)).mode !== name.scope.mode;
  if (isOfRemoved) throw PROPOSAL_NOT_FOUND;
  return auditedOn(core, { scope: name.scope, by, operation, warn }, (_, meta) =>
    work({ name, meta, now: timeNow(), onReplayed }),
  );
}

export const approve = serviceOperation({
  name: 'ledger approve',
  summary: 'appends a correction that another operator has proposed',
  members: { ...PROPOSAL, balance: shownBalance },
  ...DECISION,
  route: post(
    'ledger/{tenant}/proposals/{proposal}/approval',
    ...REFUSALS_OF_PROPOSALS,
    'ACCOUNT_NOT_FOUND',
    'USER_NOT_FOUND',
  ),
  examples: ['ledger approve acme.live.20260131.9f2c4b7e1d0a4c558e6f3b2a1c0d9e8f --by sam'],
  run: (context, request) =>
    onProposal(context, 'ledger approve', request, (asked) =>
      approveWithAudit(context.core, { ...asked, balance: request.balance }),
    ),
  said: ({ eventId, position }) => `approved: event ${eventId} at ${position ?? ''}`,
});

export const reject = serviceOperation({
  name: 'ledger reject',
  summary: 'ends a correction that another operator has proposed, without making it',
  members: { ...PROPOSAL, reason: help(reason, 'why') },
  ...DECISION,
  route: post('ledger/{tenant}/proposals/{proposal}/rejection', ...REFUSALS_OF_PROPOSALS),
  examples: ['ledger reject acme.live.20260131.9f2c4b7e --reason "charged once" --by sam'],
  run: (context, request) =>
    onProposal(context, 'ledger reject', request, (asked) =>
      endWithAudit(context.core, { ...asked, reason: request.reason }),
    ),
  said: ({ id }) => `rejected ${id}`,
});

export const withdraw = serviceOperation({
  name: 'ledger withdraw',
  summary: 'ends a correction that the same operator has proposed',
  members: PROPOSAL,
  ...DECISION,
  route: post('ledger/{tenant}/proposals/{proposal}/withdrawal', ...REFUSALS_OF_PROPOSALS),
  examples: ['ledger withdraw acme.live.20260131.9f2c4b7e1d0a4c558e6f3b2a1c0d9e8f'],
  run: (context, request) =>
    onProposal(context, 'ledger withdraw', request, (asked) => endWithAudit(context.core, asked)),
  said: ({ id }) => `withdrawn ${id}`,
});

const proposals = recordedOperation({
  name: 'ledger proposals',
  summary: 'the proposed corrections, newest first',
  members: {
    state: help(z.enum(PROPOSAL_STATES).optional(), 'this state only'),
    limit: limit(1_000),
  },
  roles: ['finance'],
  route: get('ledger/{tenant}/proposals'),
  examples: ['ledger proposals acme --state waiting'],
  columns: [
    'id',
    'account',
    'user',
    ['amount', 'amount', 'amount'],
    'unit',
    'reason',
    ['proposed by', 'proposedBy'],
    ['until', 'expiresAt'],
    'state',
    ['ended by', 'endedBy'],
    ['end reason', 'endReason'],
  ],
  empty: 'there is no such proposal',
  record: async ({ core, scope }, { state, limit: most }) => {
    const listed = await listProposals(core, scope, { state, limit: most, now: timeNow() });
    const result = listed.map(({ grant: _, ...proposal }) => proposal);
    return { result, parameters: { state, limit: most } };
  },
});

export const correctionOperations: readonly Operation[] = [
  adjust,
  propose,
  approve,
  reject,
  withdraw,
  proposals,
];
