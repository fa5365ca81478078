const { compilerOptions } = require('../tsconfig.json');

/**
 * How swc compiles the service and its tests: as tsconfig.json says, so that the code that runs is
 * the code whose types were checked.
 */
exports.jsc = {
  target: compilerOptions.target.toLowerCase(),
  keepClassNames: true,
  parser: { syntax: 'typescript', decorators: compilerOptions.experimentalDecorators },
  transform: {
    legacyDecorator: compilerOptions.experimentalDecorators,
    decoratorMetadata: compilerOptions.emitDecoratorMetadata,
    useDefineForClassFields: compilerOptions.useDefineForClassFields,
  },
};
