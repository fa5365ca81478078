/** Which server a kind of call goes to. */
const SERVER_OF: Readonly<Record<string, Server>> = {
  append: 'log',
  read: 'log',
  keys: 'vault',
  provider: 'provider',
};

export const SERVERS = ['log', 'vault', 'database'] as const;
export type Server = (typeof SERVERS)[number] | 'provider';
/** A full server answers questions, as a read-only one does. */
export type Outage = 'away' | 'full';

/** The servers that do not answer, or take no changes, for a while: every process meets it. */
export class Outages {
  private readonly servers = new Map<Server, Outage>();
  private readonly streams = new Set<string>();

  begin(server: Server, outage: Outage): void {
    this.servers.set(server, outage);
  }

  end(server: Server): void {
    this.servers.delete(server);
  }

  /** Appends to this stream fail, to others not. Returns how it ends. */
  breakStream(stream: string): () => void {
    this.streams.add(stream);
    return () => void this.streams.delete(stream);
  }

  get areUnderWay(): boolean {
    return this.servers.size > 0 || this.streams.size > 0;
  }

  /** Everything answers again. */
  endAll(): void {
    this.servers.clear();
    this.streams.clear();
  }

  isBroken(stream: string): boolean {
    return this.streams.has(stream);
  }

  refuses(kind: string, isChange: boolean): boolean {
    const outage = this.servers.get(SERVER_OF[kind] ?? 'database');
    return outage === 'away' || (outage === 'full' && isChange);
  }
}
