/** So many turns in a row without an answer, and none that ended quickly between. */
const IN_A_ROW = 3;
/** A turn that fails sooner has an answer, or holds its place for too short a time to matter. */
const SLOW_MS = 2_000;

/**
 * Tenants and modes whose provider lets every call run out of time: each such call holds a place
 * for 10 s, and 128 tenants would hold all of them.
 */
export class SilentProviders {
  private readonly turns = new Map<string, number>();

  /** @returns whether its calls are to rest for a while. */
  isSilentAfter(scope: string, tookMs: number, failed: boolean): boolean {
    if (!failed || tookMs < SLOW_MS) {
      this.turns.delete(scope);
      return false;
    }
    const turns = (this.turns.get(scope) ?? 0) + 1;
    this.turns.set(scope, turns);
    return turns >= IN_A_ROW;
  }
}
