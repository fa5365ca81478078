import 'reflect-metadata';
process.stderr.write('not built yet\n');
