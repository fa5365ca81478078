import { LEDGER_MODE, MODES, modeOf, scopeOf, type Scope } from '../domain/scope.js';
import { STREAM_PREFIX, type KeyedNames } from '../privacy/keyed-names.js';

const TENANT_STREAM = `${STREAM_PREFIX}tenant-`;
const SCOPED_STREAM = new RegExp(`^referral-[a-z]+-(${LEDGER_MODE})\\.([^.]+)\\.`);
/** Index of the hyphen after the kind of a stream. */
const KIND_ENDS_AFTER = STREAM_PREFIX.length;

/**
 * Maps events to chains. The chain of a tenant and mode has all its streams, removed test data
 * included, and the tenant's own stream (keys, switches, programs), which is part of both modes.
 * The list of all tenants is in no chain.
 * A chain's name has the mode and the hash of the tenant's own stream, without the alias.
 */
export class ChainNames {
  private readonly known = new Map<string, string>();

  constructor(private readonly names: KeyedNames) {}

  of({ tenant, mode }: Scope): string {
    return `${modeOf(mode)}.${this.tenantHash(tenant)}`;
  }

  /** None, one, or both of a tenant. */
  ofStream(stream: string): readonly string[] {
    if (stream.startsWith(TENANT_STREAM))
      return MODES.map((mode) => `${mode}.${stream.slice(TENANT_STREAM.length)}`);
    const [, mode, tenant] = SCOPED_STREAM.exec(stream) ?? [];
    if (mode === undefined || tenant === undefined) return [];
    return [this.of(scopeOf({ tenant, mode }))];
  }

  /** As `ofStream`, for one scope; fast, since called for every event of a log. */
  membership({ tenant, mode }: Scope): (stream: string) => boolean {
    const own = this.names.tenantStream(tenant);
    const scope = `${modeOf(mode)}.${tenant}.`;
    const removed = mode === 'live' ? null : new RegExp(`^test-[1-9]\\d{0,8}\\.${tenant}\\.`);
    return (stream) => {
      if (stream === own) return true;
      if (!stream.startsWith(STREAM_PREFIX)) return false;
      const at = stream.indexOf('-', KIND_ENDS_AFTER) + 1;
      return stream.startsWith(scope, at) || removed?.test(stream.slice(at)) === true;
    };
  }

  private tenantHash(tenant: string): string {
    const known =
      this.known.get(tenant) ?? this.names.tenantStream(tenant).slice(TENANT_STREAM.length);
    this.known.set(tenant, known);
    return known;
  }
}
