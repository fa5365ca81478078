import { LRUCache } from 'lru-cache';

const BYTES_MAX = 8 * 1024 * 1024;
const TENANT_BYTES_MAX = BYTES_MAX / 4;
const BYTES_PER_ENTRY = 1024;
const BYTES_PER_CHARACTER = 2;

/**
 * A cache of bounded memory, of which a tenant has a quarter at most: its entries do not drive out
 * those of all others.
 */
export class TenantCaches<Value extends object> {
  private readonly tenants = new LRUCache<string, LRUCache<string, Value>>({
    maxSize: BYTES_MAX,
    sizeCalculation: ({ calculatedSize }) => BYTES_PER_ENTRY + calculatedSize,
  });

  /**
   * @param charactersOf a value, without its key.
   * @param msMax how long a value is kept; undefined: until others need its place.
   */
  constructor(
    private readonly charactersOf: (value: Value) => number,
    private readonly msMax?: number,
  ) {}

  get(tenant: string, key: string): Value | undefined {
    return this.tenants.get(tenant)?.get(key);
  }

  set(tenant: string, key: string, value: Value): void {
    const values = this.tenants.get(tenant) ?? this.emptyCache();
    values.set(key, value);
    // Its size has changed, which only a new entry counts.
    this.tenants.delete(tenant);
    this.tenants.set(tenant, values);
  }

  /** The estimated memory in use. */
  get bytes(): number {
    return this.tenants.calculatedSize;
  }

  private emptyCache(): LRUCache<string, Value> {
    return new LRUCache({
      maxSize: TENANT_BYTES_MAX,
      maxEntrySize: BYTES_MAX / 8,
      ...(this.msMax !== undefined && { ttl: this.msMax }),
      sizeCalculation: (value, key) =>
        BYTES_PER_ENTRY + BYTES_PER_CHARACTER * (this.charactersOf(value) + key.length),
    });
  }
}
