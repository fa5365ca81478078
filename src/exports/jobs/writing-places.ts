/**
 * The places of a process for the exports that it writes at once. Who waits for a read model leaves
 * its place to others, and returns before anybody new begins.
 */
export class WritingPlaces {
  private taken = 0;
  private readonly returning: (() => void)[] = [];

  /** @param onLeft called when a place may have become free. */
  constructor(
    private readonly max: number,
    private readonly onLeft: () => void,
  ) {}

  get hasRoom(): boolean {
    return this.taken < this.max;
  }

  /** Undefined: all are taken. */
  enter(): WritingPlace | undefined {
    if (!this.hasRoom) return undefined;
    this.taken += 1;
    return new WritingPlace({ leave: () => this.leave(), comeBack: () => this.comeBack() });
  }

  private leave(): void {
    const next = this.returning.shift();
    // The place is handed on.
    if (next) return next();
    this.taken -= 1;
    this.onLeft();
  }

  private comeBack(): Promise<void> {
    if (!this.hasRoom) return new Promise((resolve) => this.returning.push(resolve));
    this.taken += 1;
    return Promise.resolve();
  }
}

interface Doors {
  leave(): void;
  comeBack(): Promise<void>;
}

/** The place of one export. */
export class WritingPlace {
  private isHeld = true;
  private isOver = false;

  constructor(private readonly doors: Doors) {}

  /** Somebody else may have the place meanwhile; resolves with a place again. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    this.leave();
    try {
      return await wait();
    } finally {
      await this.comeBack();
    }
  }

  /** For good, also while `aside` has not returned. */
  end(): void {
    this.isOver = true;
    this.leave();
  }

  private leave(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.doors.leave();
  }

  private async comeBack(): Promise<void> {
    if (this.isOver) return;
    await this.doors.comeBack();
    this.isHeld = true;
    // Its export ended while it waited for the place.
    if (this.isOver) this.leave();
  }
}
