import type { AccountEvent } from '../domain/account/account.events.js';
import { decide, type TankCodeCommand, type TankCodeHolder, type TankCodesState } from '../domain/fuel-tank/tank-codes.decider.js';
import type { NeededTankCode } from '../domain/need.js';
import type { AccountRef, Scope } from '../domain/scope.js';
import { tankCodesOf } from '../domain/tenant/program-document.js';
import type { CommandMeta } from '../event-log/envelope.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import { freshStepOf } from './step-of-command.js';
import type { Streams } from './streams.js';
import type { TenantDirectory } from './tenant-directory.js';

/** A reservation that its account has not recorded after this time is nobody's: its command is long over. */
const UNRECORDED_MS = 120_000;

/** A code that waits for its account to record it. */
export interface ReservedTankCode {
  readonly code: string;
  readonly holder: TankCodeHolder;
}

/** Codes of fuel tanks, handed out once each: reserved first, recorded by the account, then out of the pool for good. */
export class TankCodes {
  constructor(
    private readonly streams: Pick<Streams, 'tankCodes' | 'accounts'>,
    private readonly names: KeyedNames,
    private readonly tenants: TenantDirectory,
    private readonly clock: () => number = Date.now,
  ) {}

  /** The code for a reward, the same one however often it is asked for; null: none is left. */
  async reserve(meta: CommandMeta, account: AccountRef, need: NeededTankCode): Promise<string | null> {
    const tenant = await this.tenants.find(meta.scope.tenant);
    const codes = tenant ? tankCodesOf(tenant, need) : [];
    const holder = { account, rewardId: need.rewardId };
    const take = () => this.tell(meta, { type: 'ReserveTankCode', codes, holder, now: this.clock() });
    const state = await take();
    const code = state.codeOfReward.get(need.rewardId);
    if (code !== undefined) return code;
    const isAnyFreed = await this.tidyUp(meta, state, codes);
    return isAnyFreed ? ((await take()).codeOfReward.get(need.rewardId) ?? null) : null;
  }

  /** After the command: what its account recorded is handed out, the rest is free again. Not done, by a crash, it is made up for when codes run out. */
  async settle(meta: CommandMeta, reserved: readonly ReservedTankCode[], recorded: readonly AccountEvent[]): Promise<void> {
    const given = new Set(recorded.flatMap((event) => (event.type === 'RewardGranted' ? [event.rewardId] : [])));
    for (const { code, holder } of reserved) {
      const isGiven = given.has(holder.rewardId) || (await this.isRecorded(meta.scope, holder, code));
      await this.tell(meta, { type: isGiven ? 'HandOutTankCode' : 'ReleaseTankCode', code, holder, now: this.clock() });
    }
  }

  /** Settles what others left. True: some code is free again. */
  private async tidyUp(meta: CommandMeta, state: TankCodesState, codes: readonly string[]): Promise<boolean> {
    const left = state.reserved.filter(({ since }, code) => since < this.clock() - UNRECORDED_MS && codes.includes(code));
    let isAnyFreed = false;
    for (const [code, { holder }] of left) {
      const isGiven = await this.isRecorded(meta.scope, holder, code);
      await this.tell(meta, { type: isGiven ? 'HandOutTankCode' : 'ReleaseTankCode', code, holder, now: this.clock() });
      isAnyFreed ||= !isGiven;
    }
    return isAnyFreed;
  }

  private async isRecorded(scope: Scope, { account, rewardId }: TankCodeHolder, code: string): Promise<boolean> {
    const { state } = await this.streams.accounts.load(this.names.accountStream(scope, account));
    const value = state.status === 'open' ? state.rewards.get(rewardId)?.value : undefined;
    const recorded = value?.type === 'FUELTANK' ? value.fuelTankCode : state.remains.tankCodes.get(rewardId);
    return recorded === code;
  }

  private async tell(meta: CommandMeta, command: TankCodeCommand): Promise<TankCodesState> {
    const stream = this.names.tankCodesStream(meta.scope);
    const outcome = await this.streams.tankCodes.handle(stream, freshStepOf(meta), (state) => decide(state, command));
    if (outcome.kind !== 'accepted') throw new Error('the tank codes refused a step');
    return outcome.state;
  }
}
