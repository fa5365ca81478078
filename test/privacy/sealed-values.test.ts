import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import {
  openAt,
  openValues,
  sealValues,
  storedPlaces,
  subjectsIn,
} from '../../src/privacy/sealed-values.js';

/** Events are opened in place, kept answers in a copy: both must give back what was sealed. */

const keys = new Map<string, Buffer | null>([
  ['anna', randomBytes(32)],
  ['ben', randomBytes(32)],
  ['forgotten', null],
]);
const allKeys = new Map([...keys].map(([subject, key]) => [subject, key ?? randomBytes(32)]));

const personal = fc.record({
  subject: fc.constantFrom(...keys.keys()),
  value: fc.oneof(fc.string(), fc.constant(null), fc.jsonValue()),
});
const { data } = fc.letrec<{ data: object; member: unknown }>((tie) => ({
  data: fc.dictionary(fc.string({ minLength: 1 }), tie('member'), { maxKeys: 5 }),
  member: fc.oneof(
    { maxDepth: 4 },
    personal,
    fc.string(),
    fc.integer(),
    fc.constant(null),
    tie('data'),
    fc.array(tie('member'), { maxLength: 3 }),
  ),
}));

const stored = (json: unknown): object => JSON.parse(JSON.stringify(json)) as object;

test('values that are decrypted in place equal those of a decrypted copy, at any depth', () => {
  let opened = 0;
  fc.assert(
    fc.property(data, (members) => {
      const plain = stored({
        members,
        owner: { subject: 'anna', value: { name: 'Anna' } },
        gone: [{ subject: 'forgotten', value: 'x' }],
      });
      const sealed = sealValues(plain, allKeys);
      const copy = openValues(stored(sealed), keys);
      const inPlace = stored(sealed);
      const places = storedPlaces(inPlace);
      expect(new Set(places.map(({ stored: { subject } }) => subject))).toEqual(
        subjectsIn(inPlace),
      );
      openAt(places, keys);
      opened += places.length;
      expect(inPlace).toEqual(copy);
      expect(inPlace).toMatchObject({
        owner: { subject: 'anna', value: { name: 'Anna' } },
        gone: [{ subject: 'forgotten', value: null }],
      });
    }),
  );
  expect(opened).toBeGreaterThan(200);
});

test('a value that was changed or moved to another person does not decrypt', () => {
  const sealed = stored(sealValues({ owner: { subject: 'anna', value: 'secret' } }, allKeys)) as {
    owner: { subject: string; sealed: string };
  };
  const changed = Buffer.from(sealed.owner.sealed, 'base64');
  changed[30] = (changed[30] ?? 0) ^ 1;
  const open = (owner: object) => () => openAt(storedPlaces({ owner }), keys);
  expect(open({ ...sealed.owner, sealed: changed.toString('base64') })).toThrow();
  expect(open({ ...sealed.owner, subject: 'ben' })).toThrow();
  expect(open(sealed.owner)).not.toThrow();
});
