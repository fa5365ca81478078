import ts from 'typescript';

/** Rules of this project about names that come from outside, such as `constructor`. */

/** Do nothing for, or leave out, the keys `constructor` and `__proto__` (immutable 5.2.1). */
const LOSING_METHODS = new Set([
  'countBy',
  'groupBy',
  'mergeDeep',
  'mergeDeepIn',
  'mergeDeepWith',
  'mergeIn',
  'mergeWith',
  'setIn',
  'toJS',
  'toJSON',
  'toObject',
  'update',
  'updateIn',
]);

const isOfImmutable = (type) =>
  [type.getSymbol(), type.aliasSymbol].some((symbol) =>
    symbol?.declarations?.some(({ parent }) =>
      parent.getSourceFile().fileName.includes('/node_modules/immutable/'),
    ),
  );

const noLosingCalls = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      loses:
        '{{name}} of immutable skips the keys `constructor` and `__proto__`. Use get with set, or Object.fromEntries.',
    },
  },
  create(context) {
    const { getTypeAtLocation } = context.sourceCode.parserServices;
    return {
      'CallExpression > MemberExpression[computed=false].callee'(node) {
        const { name } = node.property;
        if (LOSING_METHODS.has(name) && isOfImmutable(getTypeAtLocation(node.object)))
          context.report({ node, messageId: 'loses', data: { name } });
      },
    };
  },
};

const isAnyText = (type) =>
  (type.isUnion() ? type.types : [type]).some(({ flags }) => flags & ts.TypeFlags.String);

const noInheritedMembers = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      inherits:
        'The name may be `constructor` or `__proto__`. Use a Map, or ownMember (src/domain/own-member.ts).',
    },
  },
  create(context) {
    const { getTypeAtLocation } = context.sourceCode.parserServices;
    return {
      'MemberExpression[computed=true]'(node) {
        if (!isAnyText(getTypeAtLocation(node.property))) return;
        if (node.property.type === 'Literal') return;
        context.report({ node, messageId: 'inherits' });
      },
    };
  },
};

export const outsideNames = {
  rules: { 'no-losing-calls': noLosingCalls, 'no-inherited-members': noInheritedMembers },
};
