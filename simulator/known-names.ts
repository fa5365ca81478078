import { KeyedNames } from '../src/privacy/keyed-names.js';

/** More than a round has; then it begins anew. */
const KNOWN_MAX = 20_000;

/** The same text has the same name: each is hashed once for all processes of the world. */
export class KnownNames extends KeyedNames {
  private readonly known = new Map<string, Buffer>();

  protected override hmac(parts: readonly string[]): Buffer {
    const text = JSON.stringify(parts);
    let name = this.known.get(text);
    if (name === undefined) {
      if (this.known.size === KNOWN_MAX) this.known.clear();
      name = super.hmac(parts);
      this.known.set(text, name);
    }
    return name;
  }
}
