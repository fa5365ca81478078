import { FixedSealer } from '../../src/privacy/sealed-bytes.js';
import { ReceiverAnswers } from '../../src/webhooks/deliveries/receiver-answers.js';
import { InMemorySubjectKeys } from '../support/in-memory-subject-keys.js';

const sealer = new FixedSealer(Buffer.alloc(32, 1));
const ANSWER = Buffer.from('thank you, Ann and Bob');

let keys: InMemorySubjectKeys;
let answers: ReceiverAnswers;

beforeEach(async () => {
  keys = new InMemorySubjectKeys();
  await keys.loadOrCreate(['ann', 'bob', 'cid']);
  answers = new ReceiverAnswers(sealer, keys);
});

const sealed = async (people: readonly string[]): Promise<Buffer> => {
  const bytes = await answers.seal(ANSWER, 'd1', people);
  if (bytes === null) throw new Error('nothing is kept');
  return bytes;
};

it.each([[[]], [['ann']], [['ann', 'bob']]])(
  'an answer that may name %j is kept',
  async (people) => {
    const bytes = await sealed(people);
    expect(bytes.includes(ANSWER)).toBe(false);
    expect(await answers.open(bytes, 'd1', people)).toEqual(ANSWER);
  },
);

it.each(['ann', 'bob'])(
  'an answer is lost once %s, one of two people, is forgotten',
  async (gone) => {
    const bytes = await sealed(['ann', 'bob']);
    await keys.destroy([gone]);
    expect(await answers.open(bytes, 'd1', ['ann', 'bob'])).toBeNull();
    // With the master key alone, or with that of the other one, there is nothing to read.
    const inner = await sealer.open(bytes, 'webhook answer d1');
    expect(inner.includes(ANSWER)).toBe(false);
    const other = gone === 'ann' ? 'bob' : 'ann';
    const left = await answers.open(bytes, 'd1', [other]).catch(() => null);
    expect(left?.includes(ANSWER) ?? false).toBe(false);
  },
);

it('an answer that may name another person stays', async () => {
  const bytes = await sealed(['cid']);
  await keys.destroy(['ann', 'bob']);
  expect(await answers.open(bytes, 'd1', ['cid'])).toEqual(ANSWER);
});

it('nothing is kept of an answer that arrives after one of its people was forgotten', async () => {
  await keys.destroy(['bob']);
  expect(await answers.seal(ANSWER, 'd1', ['ann', 'bob'])).toBeNull();
});

it('nothing is kept of an empty answer', async () => {
  expect(await answers.seal(Buffer.of(), 'd1', ['ann'])).toBeNull();
});

it('an answer opens as that of its own delivery only', async () => {
  await expect(answers.open(await sealed(['ann']), 'd2', ['ann'])).rejects.toThrow();
});
