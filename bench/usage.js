// Preloaded into a measured process (`node --import`): at exit, writes the resource usage to the file that BENCH_USAGE names.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const usage = { peakMiB: maxRSS / 1024, cpuMs: (userCPUTime + systemCPUTime) / 1000 };
  writeFileSync(process.env.BENCH_USAGE, JSON.stringify(usage));
});
