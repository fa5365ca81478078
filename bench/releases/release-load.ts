import { setTimeout as delay } from 'node:timers/promises';
import {
  LedgerClient,
  NoAnswer,
  positionOf,
  type Answer,
} from '../../test/harness/ledger-client.js';

const IN_FLIGHT_LOOK_MS = 10;
const CREDIT = 100;
const REDEEMED = 30;

interface Target {
  readonly name: string;
  readonly client: LedgerClient;
  inFlight: number;
}

/**
 * Clients behind a balancer: each request goes to one of the services that are in the rotation. A
 * client opens an account, gives and redeems credit, and reads its balance from another service
 * than the one that it wrote to. Every answer must be the right one.
 */
export class ReleaseLoad {
  requests = 0;
  /** Reads that said that they do not include the newest write. */
  stale = 0;
  readonly faults: string[] = [];
  readonly accounts: string[] = [];
  private readonly targets: Target[] = [];
  private readonly running: Promise<void>[] = [];
  private stopping = false;
  private turn = 0;

  constructor(private readonly credentials: { readonly apiKey: string; readonly tenant: string }) {}

  /** Adds a service that is ready. */
  add(name: string, url: string): void {
    this.targets.push({
      name,
      client: new LedgerClient({ url, ...this.credentials }),
      inFlight: 0,
    });
  }

  /** Takes a service out, and waits for the answers to what it was sent. */
  async remove(name: string): Promise<void> {
    const place = this.targets.findIndex((target) => target.name === name);
    const [target] = place < 0 ? [] : this.targets.splice(place, 1);
    if (!target) throw new Error(`${name} is not in the rotation`);
    while (target.inFlight > 0) await delay(IN_FLIGHT_LOOK_MS);
    target.client.close();
  }

  start(clients: number): void {
    for (let number = 0; number < clients; number++) this.running.push(this.run(number));
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.running);
    for (const { client } of this.targets) client.close();
  }

  /** Waits until so many more accounts were carried through. */
  async more(accounts: number): Promise<void> {
    for (const end = this.accounts.length + accounts; this.accounts.length < end;) {
      if (this.faults.length > 0) throw new Error(this.faults.slice(0, 10).join('\n'));
      await delay(IN_FLIGHT_LOOK_MS);
    }
  }

  /** The account's balance as each service in the rotation says it. */
  async balances(account: string): Promise<ReadonlyMap<string, string>> {
    const answers = new Map<string, string>();
    for (const { name, client } of this.targets) {
      const { status, body } = await client.get(balanceOf(account));
      answers.set(name, `${status} ${JSON.stringify(body)}`);
    }
    return answers;
  }

  private async run(number: number): Promise<void> {
    for (let count = 0; !this.stopping; count++) {
      const id = `c${number}n${count}`;
      if (await this.carryThrough(id)) this.accounts.push(id);
    }
  }

  private async carryThrough(id: string): Promise<boolean> {
    const subscription = { status: 'TRIAL' };
    if (!(await this.post('accountsync', { id, subscription }, 200))) return false;
    if (!(await this.post('user', { id, accountId: id, firstName: 'Ann' }, 200, 201))) return false;
    const reward = { type: 'CREDIT', unit: 'CENTS', assignedCredit: CREDIT };
    const given = await this.post(`rewards/account/${id}/user/${id}`, reward, 201);
    const rewardId = String((given?.answer.body as { id?: unknown } | undefined)?.id);
    const redeemed = { amount: REDEEMED, unit: 'CENTS' };
    const last = given && (await this.post(`credit/${rewardId}/redeem`, redeemed, 200));
    if (!last) return false;
    const position = positionOf(last.answer) ?? '';
    return this.readsBalance(id, last.target, position);
  }

  /** From the service that took the write, and from another one that gets the position. */
  private async readsBalance(id: string, writer: Target, position: string): Promise<boolean> {
    const expected = CREDIT - REDEEMED;
    const same = this.targets.includes(writer)
      ? await this.send(writer, (client) => client.get(balanceOf(id)), 200)
      : undefined;
    if (same && availableIn(same) !== expected && !('ledger-stale' in same.headers))
      this.faults.push(`${writer.name} did not show its own write: ${JSON.stringify(same.body)}`);
    if (same && 'ledger-stale' in same.headers) this.stale += 1;
    const other = this.targets.find((target) => target !== writer) ?? this.next();
    const atLeast = { 'ledger-position-at-least': position };
    const read = await this.send(other, (client) => client.get(balanceOf(id), atLeast), 200);
    if (read && availableIn(read) !== expected)
      this.faults.push(`${other.name} did not show the write: ${JSON.stringify(read.body)}`);
    return read !== undefined;
  }

  private async post(
    path: string,
    body: unknown,
    ...statuses: readonly number[]
  ): Promise<{ readonly target: Target; readonly answer: Answer } | undefined> {
    const target = this.next();
    const answer = await this.send(target, (client) => client.post(path, body), ...statuses);
    return answer && { target, answer };
  }

  private next(): Target {
    const target = this.targets[this.turn++ % this.targets.length];
    if (!target) throw new Error('no service is in the rotation');
    return target;
  }

  private async send(
    target: Target,
    ask: (client: LedgerClient) => Promise<Answer>,
    ...statuses: readonly number[]
  ): Promise<Answer | undefined> {
    target.inFlight += 1;
    this.requests += 1;
    try {
      const answer = await ask(target.client);
      if (statuses.includes(answer.status)) return answer;
      this.faults.push(`${target.name} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.faults.push(`${target.name}: ${error.message}`);
    } finally {
      target.inFlight -= 1;
    }
    return undefined;
  }
}

const balanceOf = (account: string): string => `reward/balance?accountId=${account}`;

const availableIn = ({ body }: Answer): unknown =>
  Array.isArray(body)
    ? (body[0] as { totalAvailableCredit?: unknown } | undefined)?.totalAvailableCredit
    : undefined;
