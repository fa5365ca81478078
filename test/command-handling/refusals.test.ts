import {
  decide as decideExport,
  evolve as evolveExport,
  initialState as noExport,
  type ExportCommand,
} from '../../src/domain/export/export.decider.js';
import { personal } from '../../src/domain/personal.js';
import {
  decide as decidePeriod,
  evolve as evolvePeriods,
  initialState as allOpen,
  type ChangePeriod,
} from '../../src/domain/period/period.decider.js';
import {
  evolve as evolveProposals,
  initialState as noProposals,
  propose,
  PROPOSALS_A_DAY_MAX,
} from '../../src/domain/proposal/proposal.decider.js';
import {
  decide as decideReservation,
  evolve as evolveReservation,
  initialState as noReservation,
} from '../../src/domain/reservation/reservation.decider.js';
import {
  decide as decideTenant,
  initialState as noTenant,
} from '../../src/domain/tenant/tenant.decider.js';
import {
  CHANGED_BYTES_PER_DAY,
  decide as decideTheme,
  initialState as noThemes,
  THEME_BYTES_MAX,
  type ChangeTheme,
} from '../../src/domain/theme/theme.decider.js';
import { decideOnEndpoint, ENDPOINTS_MAX } from '../../src/domain/tenant/webhook-endpoints.js';
import { USERS_MAX } from '../../src/domain/account/identify-user.js';
import type { AccountRequest } from '../../src/domain/account/requests/account-request.js';
import { NOTHING_PROVIDED } from '../../src/domain/need.js';
import { refused, type Refusal } from '../../src/domain/refusal.js';
import { DEFAULT_PROGRAM } from '../../src/domain/tenant/program-document.js';
import {
  accountOpened,
  anAccount,
  credit,
  discount,
  userIdentified,
} from '../support/account-events.js';
import { decide, type AccountCommand } from '../../src/domain/account/account.decider.js';
import { evolve, initialState, type AccountState } from '../../src/domain/account/account.state.js';
import { aRequest, SharedLedger, type TestProcess } from './support/processes.js';

let ledger: SharedLedger;
let process: TestProcess;

beforeAll(async () => {
  ledger = await SharedLedger.open();
  process = await ledger.process();
  await process.userWithCode('anns', 'ann', 'ANN');
  await process.userWithCode('acme', 'bob', 'BOB');
  await process.tenantCommands.execute('demo', {
    type: 'ApplyProgram',
    program: { id: 'second' },
    now: Date.now(),
  });
});
afterAll(() => ledger.close());

const code = async (outcome: Promise<object>): Promise<unknown> => {
  const result = await outcome;
  return 'refused' in result ? result.refused : result;
};
const send = (accountId: string, request: AccountRequest) => code(process.send(accountId, request));
const NO_VALUES = { values: null, bytes: 0 };
type CreateReward = Extract<AccountRequest, { type: 'CreateReward' }>;
const reward = (over: Partial<CreateReward>): CreateReward => ({
  type: 'CreateReward',
  userId: 'bob',
  value: credit(5),
  name: null,
  description: null,
  cancellable: true,
  dateScheduledFor: null,
  dateExpires: null,
  ...over,
});

const closing: ChangePeriod = {
  type: 'ClosePeriod',
  period: '2026-10',
  endsAt: 1_000,
  now: 1_001,
  comment: personal('staff', 'tied out'),
  by: personal('staff', 'sam'),
};

const anExport: Extract<ExportCommand, { type: 'RequestExport' }> = {
  type: 'RequestExport',
  exportId: 'e',
  exportType: 'USER',
  format: 'CSV',
  texts: { name: null, requester: 'API', params: null },
  hasRoom: true,
  now: 1,
};

/** A way to each code; a code without one does not compile. */
const WAYS: Readonly<Record<Refusal, () => Promise<unknown>>> = {
  ACCOUNT_NOT_FOUND: () => code(process.upsert('nobody', 'bob')),
  USER_NOT_FOUND: () => send('acme', { type: 'BlockUser', userId: 'nobody' }),
  REFERRAL_CODE_NOT_FOUND: () =>
    send('acme', { type: 'ApplyCode', userId: 'bob', code: 'NOBODYS' }),
  REWARD_NOT_FOUND: () => send('acme', { type: 'CancelReward', rewardId: 'nothing' }),
  SELF_REFERRAL: () => send('acme', { type: 'ApplyCode', userId: 'bob', code: 'bob' }),
  ALREADY_REFERRED: async () => {
    await process.userWithCode('referred', 'cat', 'CAT');
    expect(
      await process.send('referred', { type: 'ApplyCode', userId: 'cat', code: 'ANN' }),
    ).toMatchObject({ kind: 'accepted' });
    return send('referred', { type: 'ApplyCode', userId: 'cat', code: 'BOB' });
  },
  NOT_ATTRIBUTABLE: async () => {
    await process.userWithCode('paying', 'dan', 'DAN');
    await process.sync('paying', 'PAID');
    return send('paying', { type: 'ApplyCode', userId: 'dan', code: 'ANN' });
  },
  NOT_REFERABLE: async () => {
    await process.upsert('acme', 'loner', { changes: { referable: false } });
    return send('acme', { type: 'ApplyCode', userId: 'loner', code: 'ANN' });
  },
  REFERRAL_CODE_TAKEN: () => code(process.upsert('acme', 'bob', { referralCode: 'ann' })),
  PROGRAM_UNKNOWN: () => code(process.upsert('acme', 'bob', { referralCodes: { nowhere: 'X' } })),
  CODE_PROGRAM_CONFLICT: () =>
    code(process.upsert('acme', 'bob', { referralCodes: { second: 'BOB' } })),
  // A thousand users are a thousand appends here; the account itself decides as well.
  TOO_MANY_USERS: () => {
    const account = anAccount('full');
    const users = Array.from({ length: USERS_MAX }, (_, index) =>
      userIdentified(account, `user-${index}`),
    );
    const state = [accountOpened(account), ...users].reduce<AccountState>(evolve, initialState);
    const context = {
      now: 1,
      account: account.accountRef,
      codeOwner: null,
      referrer: null,
      program: null,
      referralId: 'r',
      rewardIds: { started: 's', converted: 'c' },
      provided: NOTHING_PROVIDED,
    };
    const command: AccountCommand = {
      type: 'UpsertUser',
      userId: 'one more',
      newPerson: 'p',
      changes: {},
      codes: [],
      paymentProviderId: undefined,
      context,
    };
    return code(Promise.resolve(decide(state, command)));
  },
  DO_NOT_TRACK: async () => {
    await process.upsert('acme', 'shy');
    await process.send('acme', {
      type: 'ForgetUser',
      userId: 'shy',
      doNotTrack: true,
      preserveEmptyAccount: true,
    });
    return code(process.upsert('acme', 'shy'));
  },
  USER_EXISTS: () => code(process.upsert('acme', 'bob', { mustBeNew: true })),
  FIELD_NOT_GRANTED: () => {
    const nothing = {
      changes: {},
      referralCode: undefined,
      referralCodes: {},
      paymentProviderId: undefined,
      codes: [],
    };
    return code(
      process.upsert('acme', 'bob', { changes: { firstName: 'Mallory' }, granted: nothing }),
    );
  },
  PAYMENT_PROVIDER_ID_SET: async () => {
    await process.upsert('acme', 'bob', { paymentProviderId: 'cus_acme' });
    return code(process.upsert('acme', 'bob', { paymentProviderId: 'cus_other' }));
  },
  PAYMENT_PROVIDER_ID_USED: async () => {
    await process.upsert('acme', 'bob', { paymentProviderId: 'cus_acme' });
    return code(process.upsert('anns', 'ann', { paymentProviderId: 'cus_acme' }));
  },
  USER_ALREADY_BLOCKED: async () => {
    await process.upsert('acme', 'blocked');
    await process.send('acme', { type: 'BlockUser', userId: 'blocked' });
    return send('acme', { type: 'BlockUser', userId: 'blocked' });
  },
  USER_NOT_BLOCKED: () => send('acme', { type: 'UnblockUser', userId: 'bob' }),
  EVENTS_ALREADY_RECEIVED: async () => {
    const events = [{ id: undefined, key: 'visit', fields: {}, dateTriggered: undefined }];
    const batch = {
      type: 'ReceiveUserEvents',
      userId: 'bob',
      events,
      idempotencyKey: 'the-same-batch',
    } as const;
    await process.send('acme', batch);
    return send('acme', batch);
  },
  IDEMPOTENCY_KEY_REUSED: async () => {
    const give = reward({ value: credit(5) });
    await process.send('acme', give, aRequest('reused'));
    const another = {
      ...aRequest(),
      idempotency: { key: 'hash of reused', fingerprint: 'another' },
    };
    return code(process.send('acme', give, another));
  },
  REWARD_EXISTS: async () => {
    await process.send('acme', reward({ value: credit(5) }));
    const state = await process.account('acme');
    const rewardId = state.rewards.keySeq().first('');
    return code(
      Promise.resolve(
        decide(state, {
          ...reward({ value: credit(5) }),
          rewardId,
          redeemsAutomatically: false,
          now: 1,
        }),
      ),
    );
  },
  REDEMPTION_NOT_POSSIBLE: () =>
    send('acme', { type: 'RedeemAccountCredit', amount: 1, unit: 'NOTHING' }),
  REWARD_NOT_CANCELLABLE: async () => {
    await process.send('acme', reward({ value: discount(5), cancellable: false }));
    const fixed = (await process.rewardsOf('acme')).find(({ cancellable }) => !cancellable);
    return send('acme', { type: 'CancelReward', rewardId: fixed?.rewardId ?? '' });
  },
  REWARD_DATES_INVALID: () => send('acme', reward({ dateExpires: 1 })),
  AMOUNT_TOO_LARGE: async () => {
    await process.send('acme', reward({ value: credit(Number.MAX_SAFE_INTEGER, 'MANY') }));
    return send('acme', reward({ value: credit(1, 'many') }));
  },
  CURRENCY_DIFFERS: async () => {
    const money = (currency: string) => credit(1, 'MONEY', currency);
    await process.send('acme', reward({ value: money('EUR') }));
    return send('acme', reward({ value: money('USD') }));
  },
  MODERATION_NOT_POSSIBLE: () => {
    const change = { referralId: 'elsewhere', referred: 'DENIED' as const, referrer: undefined };
    return code(
      Promise.resolve(
        decide(initialState, {
          type: 'PrepareModeration',
          moderationId: 'm',
          side: 'referred',
          changes: [change],
          now: 1,
        }),
      ),
    );
  },
  TENANT_EXISTS: () =>
    code(
      process.tenantCommands.create({
        alias: 'demo',
        programType: 'API_ONLY',
        openEndpoints: false,
        program: DEFAULT_PROGRAM,
      }),
    ),
  TENANT_NOT_FOUND: () =>
    code(
      Promise.resolve(
        decideTenant(noTenant, { type: 'SwitchOpenEndpoints', openEndpoints: true, now: 1 }),
      ),
    ),
  CHANGED_MEANWHILE: () =>
    code(
      process.tenantCommands.execute(
        'demo',
        { type: 'SwitchOpenEndpoints', openEndpoints: true, now: 1 },
        async () => refused('CHANGED_MEANWHILE', 'somebody was faster'),
      ),
    ),
  SUBSCRIPTION_NOT_FOUND: () =>
    code(
      Promise.resolve(
        decideOnEndpoint([], { type: 'UnsubscribeWebhook', mode: 'live', endpointId: 'e', now: 1 }),
      ),
    ),
  TOO_MANY_ENDPOINTS: () =>
    code(
      Promise.resolve(
        decideOnEndpoint(
          Array.from({ length: ENDPOINTS_MAX }, (_, n) => ({
            endpointId: `e${n}`,
            mode: 'live' as const,
            sealed: '',
            digest: '',
            subscribedAt: 1,
            activeSince: 1,
            disabled: null,
            secrets: [],
          })),
          {
            type: 'SubscribeWebhook',
            mode: 'live',
            endpointId: 'one more',
            sealed: '',
            digest: '',
            secret: { secretId: 's', sealed: '' },
            now: 1,
          },
        ),
      ),
    ),
  RESERVED_BY_ANOTHER: () => {
    const reserve = (account: string) =>
      ({
        type: 'Reserve',
        kind: 'referral-code',
        key: { subject: 's', value: 'X' },
        holder: { account, person: 'p' },
        programId: 'default',
        claim: `of ${account}`,
        takeOver: false,
        now: 1,
      }) as const;
    const first = decideReservation(noReservation, reserve('a'));
    const state =
      'events' in first ? first.events.reduce(evolveReservation, noReservation) : noReservation;
    return code(Promise.resolve(decideReservation(state, reserve('b'))));
  },
  PERIOD_NOT_OVER: () =>
    code(Promise.resolve(decidePeriod(allOpen, { ...closing, now: closing.endsAt }))),
  PERIOD_ALREADY_CLOSED: () => {
    const decision = decidePeriod(allOpen, closing);
    if (!('events' in decision)) throw new Error('it cannot be closed');
    return code(
      Promise.resolve(decidePeriod(decision.events.reduce(evolvePeriods, allOpen), closing)),
    );
  },
  PERIOD_NOT_CLOSED: () =>
    code(Promise.resolve(decidePeriod(allOpen, { ...closing, type: 'ReopenPeriod' }))),
  EXPORT_NOT_FOUND: () =>
    code(Promise.resolve(decideExport(noExport, { type: 'CancelExport', now: 1 }))),
  EXPORT_IS_OVER: () => {
    const requested = decideExport(noExport, anExport);
    const events = 'events' in requested ? requested.events : [];
    const aborted = { type: 'ExportAborted', at: 2, exportId: 'e', reason: 'why' } as const;
    const over = [...events, aborted].reduce(evolveExport, noExport);
    return code(Promise.resolve(decideExport(over, { type: 'CancelExport', now: 3 })));
  },
  TOO_MANY_EXPORTS: () =>
    code(Promise.resolve(decideExport(noExport, { ...anExport, hasRoom: false }))),
  TOO_MANY_PROPOSALS: () => {
    const proposing = {
      proposalId: 'one',
      account: 'a'.repeat(32),
      accountId: 'acme',
      userId: 'bob',
      unit: 'CENTS',
      amount: 1,
      reason: 'r',
      by: personal('staff', 'sam'),
      now: 1,
    };
    const account = anAccount('proposed');
    const events = [accountOpened(account), userIdentified(account, 'bob')];
    const state = events.reduce(evolve, initialState);
    const first = propose(noProposals, state, proposing);
    if (!('events' in first)) throw new Error('it cannot be proposed');
    let proposals = noProposals;
    for (let made = 0; made < PROPOSALS_A_DAY_MAX; made++)
      for (const event of first.events)
        proposals = evolveProposals(proposals, { ...event, proposalId: String(made) });
    return code(Promise.resolve(propose(proposals, state, proposing)));
  },
  RECORD_TOO_LARGE: () => {
    const text = 'x'.repeat(1024);
    const customFields = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`field_${index}`, text]),
    );
    return code(process.upsert('acme', 'bob', { changes: { customFields } }));
  },
  THEME_NOT_FOUND: () => code(process.theme({ locale: 'fr', apply: () => NO_VALUES })),
  THEME_VERSION_NOT_FOUND: () =>
    code(process.theme({ locale: 'fr', restores: 1, apply: () => NO_VALUES })),
  THEME_INVALID: () =>
    code(process.theme({ locale: 'fr', apply: () => ({ refused: 'THEME_INVALID' }) })),
  THEME_TOO_LARGE: () =>
    code(
      process.theme({
        locale: 'fr',
        apply: () => ({ values: { a: 1 }, bytes: THEME_BYTES_MAX + 1 }),
      }),
    ),
  THEME_CHANGED_TOO_MUCH: () => {
    const state = { ...noThemes, usedBytes: CHANGED_BYTES_PER_DAY, usedAt: 1 };
    const change: ChangeTheme = {
      locale: null,
      current: null,
      values: { a: 1 },
      bytes: 7,
      restores: null,
      by: null,
      now: 1,
    };
    return code(Promise.resolve(decideTheme(state, change, false)));
  },
};

it.each(Object.entries(WAYS))('%s is reached', async (refusal, way) => {
  expect(await way()).toBe(refusal);
});
