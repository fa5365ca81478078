const buildService = require('./build-service.cjs');
const startPostgres = require('./start-postgres.cjs');

module.exports = async () => {
  await buildService();
  await startPostgres();
};
