import {
  ConflictException,
  Injectable,
  NotFoundException,
  ServiceUnavailableException,
} from '@nestjs/common';
import { LockService } from 'nestjs-distributed-lock';
import { PrismaService } from './prisma.service.js';

@Injectable()
export class CoursesService {
  constructor(
    private readonly locks: LockService,
    private readonly prisma: PrismaService,
  ) {}

  /** The transaction begins after the lock is acquired, so a waiting request uses no connection. */
  async enrol(id: string, student: string): Promise<{ left: number }> {
    return await this.locks.withLock(`course:${id}`, async (lock) =>
      this.prisma.$transaction(async (transaction) => {
        const course = await transaction.course.findUnique({ where: { id } });
        if (course === null) throw new NotFoundException();
        // The token comes first: no row matches if a newer holder has already worked on this course.
        const { count } = await transaction.course.updateMany({
          where: { id, lockToken: { lte: lock.token } },
          data: { lockToken: lock.token },
        });
        if (count === 0) throw new ServiceUnavailableException('A newer request works on this course');
        const enrolled = await transaction.enrolment.count({ where: { courseId: id } });
        if (enrolled >= course.capacity) throw new ConflictException('This course is full');
        await transaction.enrolment.create({ data: { courseId: id, student } });
        return { left: course.capacity - enrolled - 1 };
      }),
    );
  }
}
