import { MODES, type Scope } from '../domain/scope.js';
import { STREAM_PREFIX, type KeyedNames } from '../privacy/keyed-names.js';

const TENANT_STREAM = `${STREAM_PREFIX}tenant-`;
const SCOPED_STREAM = /^referral-[a-z]+-(live|test)\.([^.]+)\./;
/** Index of the hyphen after the kind of a stream. */
const KIND_ENDS_AFTER = STREAM_PREFIX.length;

/**
 * Maps events to chains. There is one chain for each tenant and mode: all streams of that tenant
 * and mode, and the tenant's own stream (keys, switches, programs), which is part of both modes.
 * The list of all tenants is in no chain.
 *
 * A chain is named after the mode and the hash in the name of the tenant's own stream, which does
 * not contain the alias.
 */
export class ChainNames {
  private readonly known = new Map<string, string>();

  constructor(private readonly names: KeyedNames) {}

  of({ tenant, mode }: Scope): string {
    return `${mode}.${this.tenantHash(tenant)}`;
  }

  /** None, one, or both of a tenant. */
  ofStream(stream: string): readonly string[] {
    if (stream.startsWith(TENANT_STREAM))
      return MODES.map((mode) => `${mode}.${stream.slice(TENANT_STREAM.length)}`);
    const [, mode, tenant] = SCOPED_STREAM.exec(stream) ?? [];
    return mode === undefined || tenant === undefined ? [] : [`${mode}.${this.tenantHash(tenant)}`];
  }

  /**
   * Whether a stream is in the chain of this scope, like `ofStream` but faster: it is called for
   * every event of a log.
   */
  membership({ tenant, mode }: Scope): (stream: string) => boolean {
    const own = this.names.tenantStream(tenant);
    const scope = `${mode}.${tenant}.`;
    return (stream) =>
      (stream.startsWith(STREAM_PREFIX) &&
        stream.startsWith(scope, stream.indexOf('-', KIND_ENDS_AFTER) + 1)) ||
      stream === own;
  }

  private tenantHash(tenant: string): string {
    const known =
      this.known.get(tenant) ?? this.names.tenantStream(tenant).slice(TENANT_STREAM.length);
    this.known.set(tenant, known);
    return known;
  }
}
