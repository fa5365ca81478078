import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort, projectRoot, removeDataDir, statusOf } from '../harness/service-process.js';
import { eventually } from './embedded.js';

/** A block of a page, with the text between it and the one before. */
interface Block {
  readonly language: string;
  readonly text: string;
  readonly before: string;
}

interface Program {
  readonly child: ChildProcess;
  readonly isService: boolean;
  /** The file of its output. */
  readonly output: string;
  /** So much of it was read for keys. */
  copied: number;
}

/** What a reader copies from what was printed. The longer beginnings come first. */
const KEYS = ['live_secret_', 'test_secret_', 'live_', 'test_', 'operator_', 'whsec_'];
/** The first line of a block that is saved to a file. */
const FILE = /^(?:\/\/|#|--|<!--) (\S+\.\w+)(?: -->)?\n/;
/** The ports of the guides; each run has others. */
const PORTS = [3000, 3001, 3002, 4000, 4100, 5433, 8080, 8443, 2111, 2112, 2113];

/**
 * Follows guides in a folder with the files of the project: saves blocks that begin with the name
 * of a file, runs blocks of commands in one shell, and starts those that go into another terminal.
 * A command that fails, and an answer of 400 or above, ends it.
 */
export class GuideReader {
  private seen = '';
  private readonly programs: Program[] = [];
  private shell: ChildProcess | undefined;

  private constructor(
    readonly folder: string,
    readonly ports: ReadonlyMap<number, number>,
  ) {}

  static async open(): Promise<GuideReader> {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-guide-'));
    const root = projectRoot();
    const ports = new Map<number, number>();
    for (const port of PORTS) {
      let free = await freePort();
      while ([...ports.values()].includes(free)) free = await freePort();
      ports.set(port, free);
    }
    const reader = new GuideReader(join(folder, 'referral-ledger'), ports);
    await mkdir(reader.folder);
    for (const name of await readdir(root))
      if (!/^\.(data|cache)|^docker$/.test(name))
        await symlink(join(root, name), join(reader.folder, name));
    await cp(join(root, 'docker'), join(reader.folder, 'docker'), { recursive: true });
    const nginx = join(reader.folder, 'docker/nginx/nginx.conf');
    await writeFile(nginx, reader.filled(await readFile(nginx, 'utf8')));
    await writeFile(join(reader.folder, '.curlrc'), 'fail-with-body\n');
    return reader;
  }

  /**
   * Follows a page, or a part of it, from a heading up to another one.
   * @returns what each block of commands printed, without those that go into another terminal.
   */
  async follow(page: string, from = '', to = '\0'): Promise<readonly string[]> {
    const text = await readFile(join(projectRoot(), page), 'utf8');
    const [part = ''] = text.slice(text.indexOf(from)).split(to);
    const printed: string[] = [];
    this.openShell();
    for (const block of blocksOf(part)) {
      const [, file] = FILE.exec(block.text) ?? [];
      if (/\b[Ss]top the (\w+ )?service\b/.test(block.before)) await this.stop(true);
      if (/\b[Ss]top the receiver\b/.test(block.before)) await this.stop(false);
      if (file !== undefined) await this.save(file, block.text);
      else if (block.language !== 'sh') continue;
      else if (block.before.includes('another terminal') || /npm start$/m.test(block.text))
        await this.start(block.text);
      else printed.push(await this.run(block.text));
    }
    return printed;
  }

  /** Waits until the newest program that is no service has printed a text. */
  async prints(text: string | RegExp): Promise<void> {
    const { output = '' } = this.programs.filter(({ isService }) => !isService).at(-1) ?? {};
    await eventually(async () => new RegExp(text).test(await readFile(output, 'utf8')));
  }

  /** The port of this run for one of the guides. */
  port = (port: number): number => this.ports.get(port) ?? port;

  async close(): Promise<void> {
    this.shell?.kill();
    while (this.programs.length > 0) await this.stop(this.programs.at(-1)?.isService ?? false);
    await removeDataDir(join(this.folder, '.data'));
    await removeDataDir(dirname(this.folder));
  }

  private filled(text: string): string {
    const ports = new RegExp(`(?<!\\d)(${PORTS.join('|')})(?!\\d)`, 'g');
    const placed = text.replaceAll(ports, (port) => String(this.port(Number(port))));
    return KEYS.reduce((filling, key) => {
      const known = new RegExp(`(?<!\\w)${key}(?!secret_)[\\w+/=-]{16,}`, 'g');
      const newest = this.seen.match(known)?.at(-1);
      return newest === undefined ? filling : filling.replaceAll(`${key}…`, () => newest);
    }, placed);
  }

  private async save(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.folder, file)), { recursive: true });
    await writeFile(join(this.folder, file), this.filled(text));
  }

  /** The environment of a terminal. */
  private get env(): NodeJS.ProcessEnv {
    const { PATH, HOME, LANG } = process.env;
    return {
      PATH,
      HOME,
      LANG,
      CURL_HOME: this.folder,
      PORT: String(this.port(3000)),
      LOG_LEVEL: 'warn',
    };
  }

  private openShell(): void {
    this.shell?.kill();
    this.shell = spawn('bash', { cwd: this.folder, env: this.env, stdio: 'pipe' });
    this.shell.stdin?.write('set -eo pipefail\n');
  }

  private async run(text: string): Promise<string> {
    const { shell } = this;
    if (!shell?.stdout || !shell.stderr) throw new Error('no shell is open');
    let [out, err] = ['', ''];
    const reads = (piece: Buffer): void => void (out += String(piece));
    const fails = (piece: Buffer): void => void (err += String(piece));
    shell.stdout.on('data', reads);
    shell.stderr.on('data', fails);
    await this.copyKeys();
    // What is installed already is not installed again.
    const commands = this.filled(text).replaceAll(/^npm ci( --prefix \S+)?$/gm, (_, of?: string) =>
      of === undefined ? 'true' : `ln -s "$PWD/node_modules" ${of.slice(10)}/node_modules`,
    );
    shell.stdin?.write(`eval ${quoted(commands)} </dev/null\necho '=====END'\n`);
    await eventually(() => out.includes('=====END\n') || shell.exitCode !== null, 170_000);
    shell.stdout.off('data', reads);
    shell.stderr.off('data', fails);
    if (shell.exitCode !== null) throw new Error(`a block failed:\n${commands}\n${out}\n${err}`);
    this.seen += out;
    return out.replace('=====END\n', '');
  }

  /** What programs have printed meanwhile. */
  private async copyKeys(): Promise<void> {
    for (const program of this.programs) {
      const text = await readFile(program.output, 'utf8');
      this.seen += text.slice(program.copied);
      program.copied = text.length;
    }
  }

  private async start(text: string): Promise<void> {
    await this.copyKeys();
    const commands = this.filled(text).replaceAll(/^npm ci$/gm, '');
    const isService = text.includes('npm start');
    const output = join(dirname(this.folder), `output-${this.programs.length}-${Date.now()}`);
    const file = openSync(output, 'a');
    const child = spawn('bash', ['-ec', commands], {
      cwd: this.folder,
      env: this.env,
      detached: true,
      stdio: ['ignore', file, file],
    });
    closeSync(file);
    this.programs.push({ child, isService, output, copied: 0 });
    const [, port = this.port(3000)] =
      /OPERATIONS_PORT=(\d+)/.exec(commands) ?? /\bPORT=(\d+)/.exec(commands) ?? [];
    await eventually(async () => {
      if (child.exitCode !== null) return true;
      return isService
        ? (await statusOf(`http://127.0.0.1:${port}/health/ready`)) === 200
        : (await readFile(output, 'utf8')) !== '';
    }, 120_000);
    if (child.exitCode !== null)
      throw new Error(`it ended:\n${commands}\n${await readFile(output, 'utf8')}`);
    await this.copyKeys();
  }

  /** Ctrl-C in the terminal of the service that started first, or of the newest other program. */
  private async stop(isService: boolean): Promise<void> {
    const of = this.programs.filter((one) => one.isService === isService);
    const program = isService ? of[0] : of.at(-1);
    if (program === undefined) return;
    this.programs.splice(this.programs.indexOf(program), 1);
    const { child } = program;
    if (child.exitCode !== null || child.pid === undefined) return;
    const ended = once(child, 'exit');
    process.kill(-child.pid, 'SIGINT');
    await ended;
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function* blocksOf(page: string): Generator<Block> {
  let end = 0;
  for (const match of page.matchAll(/^( *)```(\w*)\n([^]*?)^ *```$/gm)) {
    const [all, indent = '', language = '', body = ''] = match;
    const text = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    yield { language, text, before: page.slice(end, match.index) };
    end = match.index + all.length;
  }
}
