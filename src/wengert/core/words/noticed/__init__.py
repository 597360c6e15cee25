"""What a program does that was hardly meant: results that nothing reads, hidden and tied arrays,
writes that are lost."""
