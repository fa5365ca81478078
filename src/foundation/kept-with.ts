/**
 * A value that is kept with an object for as long as the object is, like an entry of a weak map: as
 * a member that nobody else sees. For what every request has: an entry of a weak map takes four
 * times as long, and each collection of garbage reads the whole map.
 */
export class KeptWith<K extends object, V> {
  private readonly name: symbol;

  /** @param name for people who look at the object. */
  constructor(name: string) {
    this.name = Symbol(name);
  }

  get(of: K): V | undefined {
    return (of as Members<V>)[this.name];
  }

  set(of: K, value: V): void {
    (of as Members<V>)[this.name] = value;
  }
}

type Members<V> = Record<symbol, V | undefined>;
