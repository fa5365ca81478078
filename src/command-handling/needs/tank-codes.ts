import { randomUUID } from 'node:crypto';
import { decide as decideAccount } from '../../domain/account/account.decider.js';
import type { AccountEvent } from '../../domain/account/account.events.js';
import { hasRecorded } from '../../domain/account/lapse-reservation.js';
import {
  decide,
  type TankCodeCommand,
  type TankCodeHolder,
  type TankCodesState,
} from '../../domain/fuel-tank/tank-codes.decider.js';
import type { NeededTankCode } from '../../domain/need.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { tankCodesOf, tankCodesOfToday } from '../../domain/tenant/program-document.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';
import type { TenantDirectory } from '../tenant-directory.js';
import type { ProgramVersions } from './program-versions.js';

/**
 * A reservation that its account has not recorded after this time lapses: its command is over, or
 * is decided again.
 */
const UNRECORDED_MS = 120_000;

/** A code that waits for its account to record it, by one command's claim. */
export interface ReservedTankCode {
  readonly code: string;
  readonly holder: TankCodeHolder;
  readonly claim: string;
}

/**
 * Up to where the codes of a pool were seen to be taken, when so many codes were taken and so many
 * had become free again.
 */
interface Seen {
  readonly place: number;
  readonly taken: number;
  readonly freed: number;
}

/**
 * Codes of fuel tanks, handed out once each: reserved first, recorded by the account, then out of
 * the pool for good.
 */
export class TankCodes {
  /**
   * By scope, for each pool that is in use: a pool of a hundred thousand is not searched from its
   * beginning for every reward.
   */
  private readonly seen = new WeakMap<readonly string[], Map<string, Seen>>();

  constructor(
    private readonly streams: Pick<Streams, 'tankCodes' | 'accounts'>,
    private readonly names: KeyedNames,
    private readonly tenants: TenantDirectory,
    private readonly versions: Pick<ProgramVersions, 'find'>,
    private readonly clock: () => number = Date.now,
  ) {}

  /**
   * The code for a reward, the same one however often it is asked for, each time with a claim of
   * its own; undefined: none is left.
   */
  async reserve(
    meta: CommandMeta,
    account: AccountRef,
    need: NeededTankCode,
  ): Promise<ReservedTankCode | undefined> {
    const codes = await this.codesOf(meta.scope, need);
    const holder = { account, rewardId: need.rewardId };
    const claim = randomUUID();
    const state = await this.take(meta, codes, holder, claim);
    const code =
      state.codeOfReward.get(need.rewardId) ??
      (await this.takeFreed(meta, state, codes, { holder, claim }));
    return code === undefined ? undefined : { code, holder, claim };
  }

  /**
   * After the command: what its account recorded is handed out, its other claims end. Not done, by
   * a crash, it is made up for when codes run out.
   */
  async settle(
    meta: CommandMeta,
    reserved: readonly ReservedTankCode[],
    recorded: readonly AccountEvent[],
  ): Promise<void> {
    const given = new Set(
      recorded.flatMap((event) => (event.type === 'RewardGranted' ? [event.rewardId] : [])),
    );
    for (const { code, holder, claim } of reserved) {
      const isGiven =
        given.has(holder.rewardId) || (await this.isRecorded(meta.scope, holder, code));
      const now = this.clock();
      await this.tell(meta, () =>
        isGiven
          ? { type: 'HandOutTankCode', code, holder, now }
          : { type: 'ReleaseTankCode', code, holder, claim, now },
      );
    }
  }

  private async codesOf(
    { tenant: alias }: Scope,
    need: NeededTankCode,
  ): Promise<readonly string[]> {
    const tenant = await this.tenants.find(alias);
    if (!tenant) return [];
    const today = tankCodesOfToday(tenant, need);
    if (today) return today;
    const then = await this.versions.find(alias, need.programId, need.programVersion);
    return then ? tankCodesOf(then, need.rule) : [];
  }

  private async take(
    meta: CommandMeta,
    codes: readonly string[],
    holder: TankCodeHolder,
    claim: string,
  ): Promise<TankCodesState> {
    const { tenant, mode } = meta.scope;
    const scope = `${mode}/${tenant}`;
    const seenOfPool = this.seen.get(codes) ?? new Map<string, Seen>();
    this.seen.set(codes, seenOfPool);
    let from: number | undefined;
    const state = await this.tell(meta, ({ freed, taken, codeOfReward }) => {
      const seen = seenOfPool.get(scope);
      const start = seen?.freed === freed && seen.taken <= taken.size ? seen.place : 0;
      from = codeOfReward.has(holder.rewardId) ? undefined : start;
      return { type: 'ReserveTankCode', codes, from: start, holder, claim, now: this.clock() };
    });
    if (from !== undefined) {
      const code = state.codeOfReward.get(holder.rewardId);
      const place = code === undefined ? codes.length : codes.indexOf(code, from);
      seenOfPool.set(scope, { place, taken: state.taken.size, freed: state.freed });
    }
    return state;
  }

  /** Settles what others left until some code is free again, and takes it. */
  private async takeFreed(
    meta: CommandMeta,
    { reserved }: TankCodesState,
    codes: readonly string[],
    { holder, claim }: Pick<ReservedTankCode, 'holder' | 'claim'>,
  ): Promise<string | undefined> {
    const old = [...reserved].filter(([, { since }]) => since < this.clock() - UNRECORDED_MS);
    if (old.length === 0) return undefined;
    const pool = new Set(codes);
    for (const [code, left] of old) {
      if (!pool.has(code) || !(await this.settleLeft(meta, code, left.holder))) continue;
      const taken = (await this.take(meta, codes, holder, claim)).codeOfReward.get(holder.rewardId);
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  /** @returns whether the code is free again. */
  private async settleLeft(
    meta: CommandMeta,
    code: string,
    holder: TankCodeHolder,
  ): Promise<boolean> {
    const { taken } = await this.tell(meta, async ({ reserved }) => {
      const now = this.clock();
      const left = reserved.get(code);
      if (left?.holder.rewardId !== holder.rewardId || left.since >= now - UNRECORDED_MS)
        return undefined;
      // Lapsed anew in every try: whoever claims the code after that makes the append of this try
      // conflict.
      return (await this.lapse(meta, holder, code))
        ? { type: 'ReleaseTankCode', code, holder, claim: null, now }
        : { type: 'HandOutTankCode', code, holder, now };
    });
    return !taken.has(code);
  }

  /**
   * True: the account has not recorded the code, and no command can do so any more with a claim
   * that is there.
   */
  private async lapse(meta: CommandMeta, holder: TankCodeHolder, code: string): Promise<boolean> {
    if (await this.isRecorded(meta.scope, holder, code)) return false;
    const stream = this.names.accountStream(meta.scope, holder.account);
    const what = { kind: 'tank-code', code, rewardId: holder.rewardId } as const;
    const outcome = await this.streams.accounts.handle(stream, asNewCommand(meta), (state) =>
      decideAccount(state, { type: 'LapseReservation', what, now: this.clock() }),
    );
    return outcome.kind === 'accepted' && outcome.events.length > 0;
  }

  private async isRecorded(
    scope: Scope,
    { account, rewardId }: TankCodeHolder,
    code: string,
  ): Promise<boolean> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    return hasRecorded(state, { kind: 'tank-code', code, rewardId });
  }

  /** @param commandFor undefined: nothing is to be done. */
  private async tell(
    meta: CommandMeta,
    commandFor: (
      state: TankCodesState,
    ) => TankCodeCommand | undefined | Promise<TankCodeCommand | undefined>,
  ): Promise<TankCodesState> {
    const stream = this.names.tankCodesStream(meta.scope);
    const outcome = await this.streams.tankCodes.handle(
      stream,
      asNewCommand(meta),
      async (state) => {
        const command = await commandFor(state);
        return command ? decide(state, command) : { events: [] };
      },
    );
    if (outcome.kind !== 'accepted') throw new Error('the tank codes refused a step');
    return outcome.state;
  }
}
