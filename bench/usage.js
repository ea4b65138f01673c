// Preloaded into a measured process (`node --import`): writes what it used to the file named in BENCH_USAGE when it ends.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const usage = { peakMiB: maxRSS / 1024, cpuMs: (userCPUTime + systemCPUTime) / 1000 };
  writeFileSync(process.env.BENCH_USAGE, JSON.stringify(usage));
});
