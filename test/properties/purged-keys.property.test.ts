import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import type { Pool } from 'pg';
import { availableCredit } from '../../src/domain/account/rewards/redemption.js';
import { PostgresAnswerRows } from '../../src/idempotency/answer-rows.js';
import { KeptAnswers } from '../../src/idempotency/kept-answers.js';
import { purgeAnswers } from '../../src/idempotency/purge-answers.js';
import { ProcessPresence } from '../../src/postgres/process-presence.js';
import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { credit } from '../support/account-events.js';
import { useDatabase } from '../support/database.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';
import {
  aRequest,
  aReward,
  SharedLedger,
  type TestProcess,
} from '../command-handling/support/processes.js';
import { runs } from '../support/property-runs.js';

/**
 * Requests with keys, in any process, dying before or after their effect, while rows of keys are
 * purged or lost and time passes: a key has one effect in seven days, no request gets another one's
 * effect, and every effect is in the balance.
 */
const { scope: SCOPE } = aRequest();
const HOUR_MS = 60 * 60 * 1000;
const WEEK_MS = 7 * 24 * HOUR_MS;

type Step =
  | {
      readonly what: 'request';
      readonly key: string;
      readonly amount: number;
      readonly process: number;
      readonly dies: 'before' | 'after' | 'no';
    }
  | { readonly what: 'time passes'; readonly hours: number }
  | { readonly what: 'purge' }
  | { readonly what: 'a row is lost'; readonly key: string };

const key = fc.constantFrom('a', 'b');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('request' as const),
      key,
      amount: fc.constantFrom(5, 600),
      process: fc.nat(1),
      dies: fc.constantFrom('no' as const, 'no' as const, 'before' as const, 'after' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('time passes' as const),
      hours: fc.constantFrom(1, 100, 167, 169, 193),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ what: 'purge' } as const) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('a row is lost' as const), key }) },
);

let pool: Pool;
let presence: ProcessPresence;
let passed = 0;
afterAll(async () => {
  jest.restoreAllMocks();
  await presence.stop();
});
useDatabase(4, async (opened) => {
  pool = opened;
  presence = new ProcessPresence(pool);
  await presence.start();
  const { now } = Date;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + passed);
});

interface Effect {
  readonly rewardId: string;
  readonly amount: number;
  readonly at: number;
}

class Run {
  readonly effects = new Map<string, Effect[]>();
  private readonly sealingKey = randomBytes(32);

  constructor(private readonly processes: readonly TestProcess[]) {}

  async take(step: Step): Promise<void> {
    switch (step.what) {
      case 'request':
        return this.request(step);
      case 'time passes':
        passed += step.hours * HOUR_MS;
        await pool.query(
          'update ledger.idempotency_keys set created_at = created_at - make_interval(hours => $1)',
          [step.hours],
        );
        return;
      case 'purge':
        await purgeAnswers(pool);
        return;
      case 'a row is lost':
        await pool.query('delete from ledger.idempotency_keys where key = $1', [step.key]);
    }
  }

  private requests(): KeptAnswers {
    return new KeptAnswers(
      new PostgresAnswerRows(pool, presence),
      new FixedSealer(this.sealingKey),
      new InMemorySubjectKeys(),
    );
  }

  private async request({
    key,
    amount,
    process,
    dies,
  }: Extract<Step, { what: 'request' }>): Promise<void> {
    const requests = this.requests();
    const keyed = { scope: SCOPE, key, fingerprint: `of ${amount}` };
    const claimed = await requests.claim(keyed);
    // A row that is there knows another request: one that took effect, or that died before.
    if ('refused' in claimed) return expect(claimed.refused).toBe('IDEMPOTENCY_KEY_REUSED');
    if ('answer' in claimed) return expect(claimed.answer.body).toEqual({ amount });
    if (dies === 'before') return this.die(key);
    const outcome = await this.give(process, amount, {
      ...claimed,
      askedAt: claimed.askedAt + passed,
      key,
      fingerprint: keyed.fingerprint,
    });
    const young = this.effectsOf(key).filter(({ at }) => at > Date.now() - WEEK_MS);
    if (outcome === 'IDEMPOTENCY_KEY_REUSED') {
      expect(young.some((effect) => effect.amount !== amount)).toBe(true);
      return requests.drop(keyed);
    }
    if (outcome.replayed)
      expect(this.effectsOf(key).map(({ rewardId }) => rewardId)).toContain(outcome.rewardId);
    else {
      expect(young).toEqual([]);
      this.effects.set(key, [
        ...this.effectsOf(key),
        { rewardId: outcome.rewardId, amount, at: Date.now() },
      ]);
    }
    expect(outcome.amount).toBe(amount);
    if (dies === 'after') return this.die(key);
    await requests.keep(keyed, { status: 200, body: { amount }, position: null });
  }

  private async give(
    process: number,
    amount: number,
    meta: { commandId: string; askedAt: number; key: string; fingerprint: string },
  ) {
    const { commandId, askedAt, ...idempotency } = meta;
    const to = this.processes[process];
    if (!to) throw new Error('there is no such process');
    const asked = { ...aRequest(), commandId, askedAt, idempotency };
    const outcome = await to.send('acme', aReward('ann', credit(amount)), asked);
    if (outcome.kind === 'refused') {
      expect(outcome.refused).toBe('IDEMPOTENCY_KEY_REUSED');
      return 'IDEMPOTENCY_KEY_REUSED' as const;
    }
    const [granted] = outcome.events;
    if (granted?.type !== 'RewardGranted' || granted.value.type !== 'CREDIT')
      throw new Error('no reward was given');
    return {
      rewardId: granted.rewardId,
      amount: granted.value.assignedCredit,
      replayed: outcome.replayed,
    };
  }

  /** The process of the request ends without an answer. */
  private async die(key: string): Promise<void> {
    await pool.query(
      'update ledger.idempotency_keys set owner = 0 where key = $1 and answer is null',
      [key],
    );
  }

  private effectsOf(key: string): readonly Effect[] {
    return this.effects.get(key) ?? [];
  }
}

it('a key has one effect in seven days through purges, losses and crashes, and every effect is in the balance', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      await pool.query('delete from ledger.idempotency_keys');
      passed = 0;
      const ledger = await SharedLedger.open();
      const processes = [await ledger.process(), await ledger.process()];
      await processes[0]?.upsert('acme', 'ann', { openAccount: 'acme' });
      const run = new Run(processes);
      for (const step of steps) await run.take(step);

      const account = await (await ledger.process()).account('acme');
      const effects = [...run.effects.values()].flat();
      expect(new Set(effects.map(({ rewardId }) => rewardId)).size).toBe(effects.length);
      expect(availableCredit(account, 'CENTS', Date.now())).toBe(
        effects.reduce((sum, { amount }) => sum + amount, 0),
      );
    }),
    { numRuns: runs(25) },
  );
});
