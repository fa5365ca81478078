import type { Refused } from '../domain/refusal.js';
import { MODES, type Mode } from '../domain/scope.js';
import type {
  ApiKey,
  OpenTenant,
  ProgramDocument,
  ProgramType,
  SigningSecret,
  TenantCommand,
} from '../domain/tenant/tenant.decider.js';
import type { Actor, CommandMeta } from '../event-log/envelope.js';
import { newBytes, newId, timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import { sealBytes } from '../privacy/subject-keys.js';
import { TenantCommandEnvelope, type Commands } from './commands.js';
import type { ReadableStreams } from './readable-streams.js';
import { hashOfKey } from './tenant-directory.js';
import { signingSecretContext } from './token-secrets.js';

/** Plain secrets, shown once. */
export interface TenantSecrets {
  readonly alias: string;
  readonly liveApiKey: string;
  readonly testApiKey: string;
  readonly liveSigningSecret: string;
  readonly testSigningSecret: string;
}

export interface NewTenant {
  readonly alias: string;
  readonly programType: ProgramType;
  readonly openEndpoints: boolean;
  readonly program: ProgramDocument;
}

/** Creates and changes tenants: issues keys and secrets, and sends the commands. */
export class TenantCommands {
  constructor(
    private readonly commands: Commands,
    private readonly streams: Pick<ReadableStreams, 'tenants' | 'tenantRegister'>,
    private readonly names: KeyedNames,
    private readonly sealingKey: Buffer,
    private readonly actor: Actor,
  ) {}

  async create(tenant: NewTenant): Promise<TenantSecrets | Refused> {
    const keys = MODES.map((mode) => ({ mode, plain: newSecret(mode, 'key') }));
    const secrets = MODES.map((mode) => ({ mode, plain: newSecret(mode, 'secret') }));
    const changed = await this.execute(tenant.alias, {
      type: 'CreateTenant',
      ...tenant,
      keys: keys.map(({ mode, plain }) => this.sealKey(mode, plain)),
      signingSecrets: secrets.map(({ mode, plain }) => this.sealSecret(mode, plain)),
      now: timeNow(),
    });
    if ('refused' in changed) return changed;
    const plainOf = (mode: Mode, of: typeof keys): string =>
      of.find((secret) => secret.mode === mode)?.plain ?? '';
    return {
      alias: tenant.alias,
      liveApiKey: plainOf('live', keys),
      testApiKey: plainOf('test', keys),
      liveSigningSecret: plainOf('live', secrets),
      testSigningSecret: plainOf('test', secrets),
    };
  }

  /**
   * Issues new keys for the modes and returns them by mode. The old keys stay valid for the grace
   * period.
   */
  async rotateKeys(
    alias: string,
    modes: readonly Mode[],
    graceMs: number,
  ): Promise<Readonly<Partial<Record<Mode, string>>> | Refused> {
    const issued = modes.map((mode) => ({ mode, plain: newSecret(mode, 'key') }));
    const keys = issued.map(({ mode, plain }) => this.sealKey(mode, plain));
    const changed = await this.execute(alias, {
      type: 'RotateKeys',
      keys,
      graceMs,
      now: timeNow(),
    });
    return 'refused' in changed
      ? changed
      : Object.fromEntries(issued.map(({ mode, plain }) => [mode, plain]));
  }

  /** The same for signing secrets: tokens of the old ones verify for the grace period. */
  async rotateSigningSecrets(
    alias: string,
    modes: readonly Mode[],
    graceMs: number,
  ): Promise<Readonly<Partial<Record<Mode, string>>> | Refused> {
    const issued = modes.map((mode) => ({ mode, plain: newSecret(mode, 'secret') }));
    const secrets = issued.map(({ mode, plain }) => ({
      secretId: `signing-${mode}-${newBytes(4).toString('hex')}`,
      ...this.sealSecret(mode, plain),
    }));
    const changed = await this.execute(alias, {
      type: 'RotateSigningSecrets',
      secrets,
      graceMs,
      now: timeNow(),
    });
    return 'refused' in changed
      ? changed
      : Object.fromEntries(issued.map(({ mode, plain }) => [mode, plain]));
  }

  /** All tenants, oldest first. */
  async list(): Promise<OpenTenant[]> {
    const { state } = await this.streams.tenantRegister.load(this.names.tenantRegisterStream());
    const tenants = await Promise.all(
      state.aliases.map((alias) => this.streams.tenants.load(this.names.tenantStream(alias))),
    );
    return tenants.flatMap((tenant) => (tenant.state.status === 'open' ? [tenant.state] : []));
  }

  /** @returns the tenant after the command. */
  execute(alias: string, command: TenantCommand): Promise<OpenTenant | Refused> {
    return this.commands.execute(
      new TenantCommandEnvelope(this.meta(alias, command.type), command),
    );
  }

  private meta(alias: string, cause: string): CommandMeta {
    return {
      commandId: newId(),
      correlationId: newId(),
      causationId: cause,
      actor: this.actor,
      idempotency: null,
      // A tenant belongs to both modes.
      scope: { tenant: alias, mode: 'live' },
    };
  }

  private sealKey(mode: Mode, plain: string): ApiKey {
    const keyId = `${mode}-${newBytes(4).toString('hex')}`;
    return {
      keyId,
      mode,
      hash: hashOfKey(plain),
      sealed: sealBytes(this.sealingKey, Buffer.from(plain), keyId).toString('base64'),
    };
  }

  private sealSecret(mode: Mode, plain: string): SigningSecret {
    return {
      mode,
      sealed: sealBytes(this.sealingKey, Buffer.from(plain), signingSecretContext(mode)).toString(
        'base64',
      ),
    };
  }
}

/** 192 random bits; the prefix names the kind: `live_…`, `test_…`, `live_secret_…`. */
const newSecret = (mode: Mode, kind: 'key' | 'secret'): string =>
  `${mode}_${kind === 'secret' ? 'secret_' : ''}${newBytes(24).toString('hex')}`;
