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
import { secretIdOf } from '../domain/tenant/tenant-secrets.js';
import { metaOf, type Actor, type CommandMeta } from '../event-log/envelope.js';
import { newBytes, timeNow } from '../foundation/world.js';
import type { KeyedNames } from '../privacy/keyed-names.js';
import type { Sealer } from '../privacy/sealed-bytes.js';
import { TenantCommandEnvelope, type Commands, type TenantCheck } from './commands.js';
import type { ReadableStreams } from './readable-streams.js';
import { hashOfKey } from '../tenants/tenant-directory.js';
import { apiKeyContext, signingSecretContext } from '../tenants/token-secrets.js';

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

type IssuedSecrets = Readonly<Partial<Record<Mode, string>>>;
interface Issued {
  readonly mode: Mode;
  readonly plain: string;
}
interface Issue {
  readonly modes: readonly Mode[];
  readonly kind: 'key' | 'secret';
  readonly unless: TenantCheck | undefined;
}

/** Creates and changes tenants: issues keys and secrets, and sends the commands. */
export class TenantCommands {
  constructor(
    private readonly commands: Commands,
    private readonly streams: Pick<ReadableStreams, 'tenants' | 'tenantRegister'>,
    private readonly names: KeyedNames,
    private readonly sealer: Sealer,
    private readonly actor: Actor,
  ) {}

  /** The same for another actor. */
  by(actor: Actor): TenantCommands {
    const { commands, streams, names, sealer } = this;
    return new TenantCommands(commands, streams, names, sealer, actor);
  }

  async create(tenant: NewTenant): Promise<TenantSecrets | Refused> {
    const { alias } = tenant;
    const keys = MODES.map((mode) => ({ mode, plain: newSecret(mode, 'key') }));
    const secrets = MODES.map((mode) => ({ mode, plain: newSecret(mode, 'secret') }));
    const changed = await this.execute(alias, {
      type: 'CreateTenant',
      ...tenant,
      keys: await Promise.all(keys.map(({ mode, plain }) => this.sealKey(alias, mode, plain))),
      signingSecrets: await Promise.all(
        secrets.map(({ mode, plain }) => this.sealSecret(alias, { mode }, plain)),
      ),
      now: timeNow(),
    });
    if ('refused' in changed) return changed;
    const plainOf = (mode: Mode, of: typeof keys): string =>
      of.find((secret) => secret.mode === mode)?.plain ?? '';
    return {
      alias,
      liveApiKey: plainOf('live', keys),
      testApiKey: plainOf('test', keys),
      liveSigningSecret: plainOf('live', secrets),
      testSigningSecret: plainOf('test', secrets),
    };
  }

  /** Issues a new key per mode. The old keys stay valid for the grace period. */
  rotateKeys(
    alias: string,
    modes: readonly Mode[],
    graceMs: number,
    unless?: TenantCheck,
  ): Promise<IssuedSecrets | Refused> {
    return this.issue(alias, { modes, kind: 'key', unless }, async (issued) => ({
      type: 'RotateKeys',
      keys: await Promise.all(issued.map(({ mode, plain }) => this.sealKey(alias, mode, plain))),
      graceMs,
      now: timeNow(),
    }));
  }

  /** The same for signing secrets: tokens of the old ones verify for the grace period. */
  rotateSigningSecrets(
    alias: string,
    modes: readonly Mode[],
    graceMs: number,
    unless?: TenantCheck,
  ): Promise<IssuedSecrets | Refused> {
    return this.issue(alias, { modes, kind: 'secret', unless }, async (issued) => ({
      type: 'RotateSigningSecrets',
      secrets: await Promise.all(
        issued.map(async ({ mode, plain }) => {
          const secretId = `signing-${mode}-${newBytes(4).toString('hex')}`;
          return { secretId, ...(await this.sealSecret(alias, { secretId, mode }, plain)) };
        }),
      ),
      graceMs,
      now: timeNow(),
    }));
  }

  private async issue(
    alias: string,
    { modes, kind, unless }: Issue,
    commandFor: (issued: readonly Issued[]) => Promise<TenantCommand>,
  ): Promise<IssuedSecrets | Refused> {
    const issued = modes.map((mode) => ({ mode, plain: newSecret(mode, kind) }));
    const changed = await this.execute(alias, await commandFor(issued), unless);
    if ('refused' in changed) return changed;
    return Object.fromEntries(issued.map(({ mode, plain }) => [mode, plain]));
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
  async execute(
    alias: string,
    command: TenantCommand,
    unless?: TenantCheck,
  ): Promise<OpenTenant | Refused> {
    const meta = this.meta(alias, command.type);
    const changed = await this.commands.execute(new TenantCommandEnvelope(meta, command, unless));
    return 'refused' in changed ? changed : changed.tenant;
  }

  /** A tenant belongs to both modes. */
  private meta(alias: string, cause: string): CommandMeta {
    return metaOf({ tenant: alias, mode: 'live' }, this.actor, cause);
  }

  private async sealKey(alias: string, mode: Mode, plain: string): Promise<ApiKey> {
    const keyId = `${mode}-${newBytes(4).toString('hex')}`;
    const sealed = await this.sealer.seal(Buffer.from(plain), apiKeyContext(alias, keyId));
    return { keyId, mode, hash: hashOfKey(plain), sealed: sealed.toString('base64') };
  }

  private async sealSecret(
    alias: string,
    secret: { readonly secretId?: string; readonly mode: Mode },
    plain: string,
  ): Promise<Omit<SigningSecret, 'secretId'>> {
    const context = signingSecretContext(alias, { ...secret, secretId: secretIdOf(secret) });
    const sealed = await this.sealer.seal(Buffer.from(plain), context);
    return { mode: secret.mode, sealed: sealed.toString('base64') };
  }
}

/** 192 random bits; the prefix names the kind: `live_…`, `test_…`, `live_secret_…`. */
const newSecret = (mode: Mode, kind: 'key' | 'secret'): string =>
  `${mode}_${kind === 'secret' ? 'secret_' : ''}${newBytes(24).toString('hex')}`;
