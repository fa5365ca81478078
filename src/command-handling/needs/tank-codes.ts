import type { AccountEvent } from '../../domain/account/account.events.js';
import { hasRecorded } from '../../domain/account/referral/lapse-reservation.js';
import {
  decide,
  type TankCodeCommand,
  type TankCodeHolder,
  type TankCodesState,
} from '../../domain/fuel-tank/tank-codes.decider.js';
import type { NeededTankCode } from '../../domain/need.js';
import type { AccountRef, Scope } from '../../domain/scope.js';
import { tankCodesOf, currentTankCodes } from '../../domain/tenant/program-document.js';
import type { CommandMeta } from '../../event-log/envelope.js';
import { newId, timeNow } from '../../foundation/world.js';
import type { KeyedNames } from '../../privacy/keyed-names.js';
import { asNewCommand } from '../as-new-command.js';
import type { Streams } from '../streams.js';
import type { TenantDirectory } from '../../tenants/tenant-directory.js';
import { lapse } from './lapse.js';
import type { ProgramVersions } from './program-versions.js';

/** From this age on, a reservation without a record in its account may lapse. */
const UNRECORDED_MS = 120_000;

/** A code under one command's claim, not yet recorded by its account. */
export interface ReservedTankCode {
  readonly code: string;
  readonly holder: TankCodeHolder;
  readonly claim: string;
}

/** Tank codes: reserved, recorded by the account, then removed from the pool permanently. */
export class TankCodes {
  constructor(
    private readonly streams: Pick<Streams, 'tankCodes' | 'accounts'>,
    private readonly names: KeyedNames,
    private readonly tenants: TenantDirectory,
    private readonly versions: Pick<ProgramVersions, 'find'>,
    private readonly clock: () => number = timeNow,
  ) {}

  /** The reward's code, with a new claim at each call. Undefined: the pool is empty. */
  async reserve(
    meta: CommandMeta,
    account: AccountRef,
    need: NeededTankCode,
  ): Promise<ReservedTankCode | undefined> {
    const codes = need.given === undefined ? await this.codesOf(meta.scope, need) : [need.given];
    const holder = { account, rewardId: need.rewardId };
    const claim = newId();
    if (need.given !== undefined) await this.releaseOther(meta, holder, need.given);
    const state = await this.take(meta, codes, holder, claim);
    const code =
      state.codeOfReward.get(need.rewardId) ??
      (await this.reserveFreed(meta, state, codes, { holder, claim }));
    return code === undefined ? undefined : { code, holder, claim };
  }

  /** Hands out recorded codes and ends other claims; after a crash a later command does. */
  async settle(
    meta: CommandMeta,
    reserved: readonly ReservedTankCode[],
    recorded: readonly AccountEvent[],
  ): Promise<void> {
    const granted = new Set(
      recorded.flatMap((event) => (event.type === 'RewardGranted' ? [event.rewardId] : [])),
    );
    for (const { code, holder, claim } of reserved) {
      const isGranted =
        granted.has(holder.rewardId) || (await this.isRecorded(meta.scope, holder, code));
      const now = this.clock();
      await this.handle(meta, () =>
        isGranted
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
    const today = currentTankCodes(tenant, need);
    if (today) return today;
    const then = await this.versions.find(alias, need.programId, need.programVersion);
    return then ? tankCodesOf(then, need.rule) : [];
  }

  private take(
    meta: CommandMeta,
    codes: readonly string[],
    holder: TankCodeHolder,
    claim: string,
  ): Promise<TankCodesState> {
    return this.handle(meta, () => {
      const now = this.clock();
      return { type: 'ReserveTankCode', codes, holder, claim, now };
    });
  }

  /** A killed import may have left another code to the reward of a row that was corrected since. */
  private async releaseOther(
    meta: CommandMeta,
    holder: TankCodeHolder,
    given: string,
  ): Promise<void> {
    const { codeOfReward } = await this.handle(meta, () => undefined);
    const left = codeOfReward.get(holder.rewardId);
    if (left !== undefined && left !== given) await this.settleAbandoned(meta, left, holder);
  }

  /** Settles abandoned reservations until a code is free, and takes it. */
  private async reserveFreed(
    meta: CommandMeta,
    { reserved }: TankCodesState,
    codes: readonly string[],
    { holder, claim }: Pick<ReservedTankCode, 'holder' | 'claim'>,
  ): Promise<string | undefined> {
    const old = [...reserved].filter(([, { since }]) => since < this.clock() - UNRECORDED_MS);
    if (old.length === 0) return undefined;
    const pool = new Set(codes);
    for (const [code, left] of old) {
      if (!pool.has(code) || !(await this.settleAbandoned(meta, code, left.holder))) continue;
      const taken = (await this.take(meta, codes, holder, claim)).codeOfReward.get(holder.rewardId);
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  /** @returns whether the code is free again. */
  private async settleAbandoned(
    meta: CommandMeta,
    code: string,
    holder: TankCodeHolder,
  ): Promise<boolean> {
    const { taken } = await this.handle(meta, async ({ reserved }) => {
      const now = this.clock();
      const left = reserved.get(code);
      if (left?.holder.rewardId !== holder.rewardId || left.since >= now - UNRECORDED_MS)
        return undefined;
      // Lapsed again on every try: a claim made after the lapse conflicts with this append.
      return (await this.lapse(meta, holder, code))
        ? { type: 'ReleaseTankCode', code, holder, claim: null, now }
        : { type: 'HandOutTankCode', code, holder, now };
    });
    return !taken.has(code);
  }

  private lapse(meta: CommandMeta, holder: TankCodeHolder, code: string): Promise<boolean> {
    const stream = this.names.accountStream(meta.scope, holder.account);
    const what = { kind: 'tank-code', code, rewardId: holder.rewardId } as const;
    return lapse(this.streams, stream, meta, { what, clock: this.clock });
  }

  private async isRecorded(
    scope: Scope,
    { account, rewardId }: TankCodeHolder,
    code: string,
  ): Promise<boolean> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    return hasRecorded(state, { kind: 'tank-code', code, rewardId });
  }

  /** @param commandFor undefined: no command. */
  private async handle(
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
    if (outcome.kind !== 'accepted') throw new Error('a command on the tank codes was refused');
    return outcome.state;
  }
}
