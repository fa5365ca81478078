type Hook = typeof beforeAll;

/** What is opened last is closed first, by the method of this name. */
function between(before: Hook, after: Hook) {
  const closings: (() => unknown)[] = [];
  return <T extends Readonly<Record<Close, () => unknown>> & object, Close extends string = never>(
    open: () => T | Promise<T>,
    close?: Close,
  ): T => {
    let opened: T;
    before(async () => {
      opened = await open();
      closings.push(() => close && opened[close]());
    });
    after(async () => void (await closings.pop()?.()));
    return new Proxy({} as T, {
      get: (_, name) => {
        const value = Reflect.get(opened, name) as unknown;
        const isMethod = typeof value === 'function' && !Object.hasOwn(opened, name);
        return isMethod ? (value.bind(opened) as unknown) : value;
      },
      set: (_, name, value) => Reflect.set(opened, name, value),
      has: (_, name) => Reflect.has(opened, name),
      deleteProperty: (_, name) => Reflect.deleteProperty(opened, name),
      getPrototypeOf: () => Reflect.getPrototypeOf(opened),
      ownKeys: () => Reflect.ownKeys(opened),
      getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(opened, name),
    });
  };
}

/** What the tests of a file, or of a `describe`, have together. */
export const openOnce = between(beforeAll, afterAll);
/** What each test has anew. */
export const openForEach = between(beforeEach, afterEach);
