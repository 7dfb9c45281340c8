import { Body, Controller, Module, Param, Post, Put } from '@nestjs/common';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { CoursesService } from './courses.service.js';
import { PrismaService } from './prisma.service.js';

@Controller('courses')
class CoursesController {
  constructor(
    private readonly courses: CoursesService,
    private readonly prisma: PrismaService,
  ) {}

  @Put(':id')
  async open(@Param('id') id: string, @Body() { capacity }: { capacity: number }): Promise<void> {
    await this.prisma.course.create({ data: { id, capacity } });
  }

  @Post(':id/enrolments')
  enrol(@Param('id') id: string, @Body() { student }: { student: string }) {
    return this.courses.enrol(id, student);
  }
}

@Module({
  imports: [DistributedLockModule.forRoot({ redis: process.env.REDIS_URL ?? 'redis://localhost:6379' })],
  controllers: [CoursesController],
  providers: [PrismaService, CoursesService],
})
export class AppModule {}
