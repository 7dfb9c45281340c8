-- CreateTable
CREATE TABLE "courses" (
    "id" TEXT NOT NULL,
    "capacity" INTEGER NOT NULL,
    "lock_token" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "courses_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "enrolments" (
    "id" SERIAL NOT NULL,
    "course_id" TEXT NOT NULL,
    "student" TEXT NOT NULL,

    CONSTRAINT "enrolments_pkey" PRIMARY KEY ("id")
);

-- AddForeignKey
ALTER TABLE "enrolments" ADD CONSTRAINT "enrolments_course_id_fkey" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
