import {
  makeDataDir,
  removeDataDir,
  startServiceProcess,
  type ServiceProcess,
} from '../harness/service-process.js';

let dataDir: string;
let service: ServiceProcess;

beforeAll(async () => {
  dataDir = await makeDataDir();
});
afterEach(() => service.kill());
afterAll(() => removeDataDir(dataDir));

/** Its message quotes a value that its source does not hold. */
const ERROR = "new TypeError(['qz','x-a-value'].join(''))";

it.each([
  ['a rejection that nothing handled', `Promise.reject(${ERROR})`],
  ['an exception that nothing caught', `setImmediate(()=>{throw ${ERROR}})`],
])(
  '%s ends the process with one line that says so, and without its message',
  async (what, statement) => {
    const onSignal = `process.on('SIGUSR2',()=>{${statement}})`;
    service = await startServiceProcess({
      env: { DATA_DIR: dataDir },
      nodeOptions: [`--import=data:text/javascript,${encodeURIComponent(onSignal)}`],
    });
    await service.ready();
    const before = service.output();
    await service.signal('SIGUSR2');
    expect(await service.exited).toEqual({ code: 1, signal: null });
    const lines = service.output().slice(before.length).trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 60,
      msg: `${what} ends the process`,
      error: { name: 'TypeError' },
    });
    expect(service.output()).not.toContain('qzx');
  },
  120_000,
);
