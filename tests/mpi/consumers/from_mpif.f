C     mpif.h and fixed form, with every subroutine that there is.
      PROGRAM FROM_MPIF
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'offbeat_harmonize.inc'
      INTEGER RANK, IERROR
      LOGICAL FLAG
      INTEGER*8 DELAY_NS, START(7), CLOCK, STAMP, GLOBAL_NS, BOUND_NS
      INTEGER*8 EARLIER_NS
      CHARACTER*9 WHEN
      CALL MPI_INIT(IERROR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERROR)
      CALL MPIX_HARMONIZE_CLOCK(MPI_COMM_WORLD, CLOCK)
      IF (CLOCK .NE. 0) STOP 'a clock before the first start'
      CALL MPIX_HARMONIZE(MPI_COMM_WORLD, FLAG, IERROR)
      IF (IERROR .NE. MPI_SUCCESS) STOP 'MPIX_HARMONIZE failed'
      DELAY_NS = 1000 * RANK
      CALL MPIX_HARMONIZE_DELAYED(MPI_COMM_WORLD, DELAY_NS, START,
     &                            IERROR)
      IF (START(7) .LT. OFFBEAT_ON_TIME) STOP 'no such verdict'
      IF (START(7) .GT. OFFBEAT_LOST_CORE) STOP 'no such verdict'
      CALL MPIX_HARMONIZE_CLOCK(MPI_COMM_WORLD, CLOCK)
      CALL OFFBEAT_CLOCK_NOW(CLOCK, GLOBAL_NS, BOUND_NS)
      WHEN = 'before it'
      IF (GLOBAL_NS .GE. START(2)) WHEN = 'after it'
      CALL OFFBEAT_CLOCK_CREATE(MPI_COMM_WORLD, CLOCK, IERROR)
      CALL OFFBEAT_CLOCK_SYNC(CLOCK, IERROR)
      CALL OFFBEAT_CLOCK_LOCAL(CLOCK, STAMP)
      CALL OFFBEAT_CLOCK_AT(CLOCK, STAMP, EARLIER_NS, BOUND_NS)
      IF (EARLIER_NS .EQ. 0) STOP 'no time'
      CALL OFFBEAT_CLOCK_FREE(CLOCK, IERROR)
      IF (CLOCK .NE. 0) STOP 'a clock that was freed'
      PRINT '(A,I0,A,I0,A,A,A)', 'rank ', RANK, ': flag known, waits ',
     &      START(2) - START(1), ' ns, left ', TRIM(WHEN),
     &      ', bound known'
      CALL MPI_FINALIZE(IERROR)
      END
